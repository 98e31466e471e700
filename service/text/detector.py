"""Detects which of the loaded languages a text is in, with a confidence."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from service.text.evidence import LOOKED_AT, evidence, normalized
from service.text.language_labels import code_of, fits, script_of
from service.text.prose import prose
from service.text.run import Format

LOADED, LOADED_SHRINK = 5.25, 0.243
"""Prior of loaded languages over others, as a difference of log-probabilities; see `evidence`."""
FALLBACK = "en"
"""The first guess if there is no evidence, as in LibreTranslate."""


@dataclass(frozen=True, slots=True)
class Detection:
    """A guess."""

    language: str
    confidence: int
    """In percent. It is calibrated: of texts with 80 percent, about 80 in 100 are in that language."""
    unsupported: str | None = None
    """The language that the text is in with at least 50 percent, if that is none of the loaded ones."""


class Detector:
    """Detects which of the loaded languages a text is in, or that it is in none. Safe for threads."""

    def __init__(self, languages: Iterable[str]) -> None:
        """Choose among `languages`. Those unknown to fastText are never detected."""
        self._evidence = evidence()
        by_code = {code: self._evidence.label_of(code) for code in languages}
        self.languages = sorted(by_code, key=lambda code: (by_code[code] != FALLBACK, code))
        self._by_label: dict[str, list[str]] = {}
        for code in self.languages:
            if label := by_code[code]:
                self._by_label.setdefault(label, []).append(code)
        self._loaded = [self._evidence.numbers[label] for label in self._by_label]
        self._lead = LOADED - LOADED_SHRINK * math.log(max(1, len(self._loaded)) / 2)

    def detect(
        self, text: str, form: Format = "text", ignored: Iterable[str] = ()
    ) -> list[Detection]:
        """Return all languages, likeliest first; without any evidence, all have 0 percent.

        If a text is in a language that is not loaded, all have less than 50 percent, as a rule, and the first
        says which language it is.

        Args:
            text: any text. Its markup is no evidence, and neither is what is preserved, such as code.
            form: its format.
            ignored: names of elements whose text is preserved.
        """
        normal = normalized(prose(text, form, ignored, LOOKED_AT))
        shares, unsupported = dict.fromkeys(self.languages, 0.0), None
        if self._loaded and any(map(str.isalpha, normal)):
            script = script_of(normal)
            likely = self._evidence(normal, script)
            likely[self._loaded] += self._lead
            likely = np.exp(likely - likely.max())
            likely /= likely.sum()
            likeliest = int(likely.argmax())
            if likely[likeliest] >= 0.5 and likeliest not in self._loaded:
                unsupported = code_of(self._evidence.labels[likeliest])
            for codes, share in zip(self._by_label.values(), likely[self._loaded], strict=True):
                fitting = [code for code in codes if fits(code, normal, script)] or codes
                shares.update(dict.fromkeys(fitting, float(share) / len(fitting)))
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        return [
            Detection(code, round(100 * share), None if number else unsupported)
            for number, (code, share) in enumerate(ranked)
        ]

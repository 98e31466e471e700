"""Which of the loaded languages a text is in."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from py3langid import modelio
from py3langid.langid import MODEL_FILE, LanguageIdentifier

# it unpacks its model into a temporary file, larger than the /tmp of a hardened container may be
modelio.tempfile = SimpleNamespace(TemporaryFile=lambda **_: io.BytesIO())
LOOKED_AT = 2_000
"""Characters of a text that its language is told by."""


@dataclass(frozen=True, slots=True)
class Detection:
    """A guess."""

    language: str
    confidence: float
    """In percent."""


class Detector:
    """Tells languages apart by their letters; an n-gram model for 97 languages, narrowed to a few.

    Used from one thread at a time.
    """

    def __init__(self, languages: Iterable[str]) -> None:
        """Choose among `languages`; those that the model does not know are never found."""
        self.languages = sorted(set(languages))
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = [code for code in self.languages if code in identifier.labels]
        self._identifier: Any = None
        if len(known) > 1:
            identifier.set_languages(known)
            self._identifier = identifier

    def detect(self, text: str) -> list[Detection]:
        """Every language that it may be, best first; where nothing tells them apart, all at 0 percent."""
        if len(self.languages) == 1:
            return [Detection(self.languages[0], 100.0)]
        if self._identifier is None or not any(map(str.isalpha, text)):
            return [Detection(code, 0.0) for code in self.languages]
        return [
            Detection(code, round(100 * probability, 1))
            for code, probability in self._identifier.rank(text[:LOOKED_AT])
        ]

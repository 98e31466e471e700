"""Compares what is counted or named by a number, as an abbreviation says: No. 5 is Nr. 5, p. 12 is S. 12.

Models read some of these abbreviations as words (No. 5 is Nein. 5), and copy others.
"""

import re
from collections.abc import Iterator
from typing import Self

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import NUMBER
from service.text.rules.rule import Rule, Setting
from service.text.run import Run, Stretch
from service.text.words import BLANKS, any_of

_MAY_HOLD_ONE = re.compile(rf"\.[{BLANKS}]?\d")
"""A fast check: most sentences have no dot in front of a number."""


class NumberLabels(Rule):
    """Demands that abbreviations in front of numbers are translated, if both languages have data on them."""

    name = "number_labels"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Look up the abbreviations that both languages have."""
        shared = [name for name in source.number_labels if name in target.number_labels]
        self._found = {name: _abbreviation(source.number_labels[name]) for name in shared}
        self._demanded = {name: _label(target.number_labels[name]) for name in shared}
        self._written = {name: target.number_labels[name][0] for name in shared}
        self._target = target

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has a word or abbreviation for each one in front of a number."""
        if not self._found or _MAY_HOLD_ONE.search(source.text) is None:
            return True
        text, other = source.unprotected(), translation.unprotected()
        return all(
            len(pattern.findall(text)) <= len(self._demanded[name].findall(other))
            for name, pattern in self._found.items()
        )

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect each abbreviation with its number, as the target language writes it.

        They are left to the model if only something else was lost.
        """
        return run if self.came_through(run, translation) else run.protecting(self._stretches(run))

    def _stretches(self, run: Run) -> Iterator[Stretch]:
        for name, pattern in self._found.items():
            for match in pattern.finditer(run.text):
                if number := NUMBER.match(run.text, match.end()):
                    label = self._written[name]
                    if match.start() == 0 and match[0][0].isupper():
                        label = self._target.capitalized(label)
                    yield match.start(), number.end(), f"{label} {number[0]}"


def _abbreviation(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the abbreviations among labels, also in capitals, in front of a number."""
    dotted = {label for label in labels if label.endswith(".")}
    forms = any_of(dotted | {label.upper() for label in dotted if len(label) > 2})
    gap = rf"(?:[{BLANKS}]|(?<=\w\w\.))"  # No.5 is as No. 5, but P.66 a code
    return re.compile(rf"(?<![\w.-])(?:{forms}){gap}(?=\d)")


def _label(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for any of the labels, which may be the end of a compound, in front of a number."""
    return re.compile(rf"(?:{any_of(labels)})[{BLANKS}-]?(?=\d)", re.IGNORECASE)

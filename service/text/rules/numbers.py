"""Numbers: if a translation does not have those of its source, it is done again with them protected."""

import re
from typing import Self

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import NUMBER, Figures, are_same, difference
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")


class Numbers(Rule):
    """Compares numbers; whether decimals, dates and times are written as they stood is left to the model."""

    name = "numbers"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Read numbers as these languages write them."""
        self._source, self._target = Figures(source), Figures(target)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For both languages."""
        return cls(*setting.languages)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has the numbers of its source.

        One of a source without may have some, but for hours that come of "am or pm" alone.
        """
        if _DIGIT.search(source.text) is None:
            if not self._source.has_halves or _DIGIT.search(translation.text) is None:
                return True
            return not self._source.lone_halves(source.unprotected())
        if _halves(self._target, translation) > _halves(self._source, source):
            return False
        text, other = source.unprotected(), translation.unprotected()
        if _DIGIT.search(text) is None:
            return True
        # 100万 is not 100 million
        are_shared = self._source.scales.are_shared and self._target.scales.are_shared
        if are_shared and are_same(self._source.read(text), self._target.read(other)):
            return True
        return self._are_alike(text, other)

    def _are_alike(self, source: str, translation: str) -> bool:
        """Whether two texts have the same numbers, though one may count, name or part them in another way."""
        months = self._source.months.named(source), self._target.months.named(translation)
        lost, new = difference(
            self._source.read(self._source.in_digits(source)),
            self._target.read(self._target.in_digits(translation)),
        )
        return lost <= months[1] - months[0] and new <= months[0] - months[1]

    def protect(self, run: Run, translation: Run) -> Run:  # noqa: ARG002 - whatever it is
        """The sentence with its numbers protected; times by 24 hours, unless both write them alike."""
        if _DIGIT.search(run.text) is None:
            return run.protecting(self._source.lone_halves(run.text))
        if self._source.clock != self._target.clock:
            run = run.protecting(one[:3] for one in self._source.times(run.text))
        scaled = self._source.scales.find(run.text)
        run = run.protecting(one[:2] for one in scaled if not one.is_shared)
        for pattern in (
            NUMBER,
            _DIGITS,
        ):  # the latter for what is left, where a tag or a long word is
            run = run.protecting(one.span() for one in pattern.finditer(run.text))
        return run


def _halves(figures: Figures, run: Run) -> int:
    """How often behind something protected a word says which half of the day it is."""
    return sum(figures.begins_with_half(run.text, one.end) for one in run.protected)

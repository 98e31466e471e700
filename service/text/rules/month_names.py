"""Compares the months of dates with the translation; small models confuse them if they are abbreviated."""

import re
from collections import Counter
from typing import Self

from service.text.rules.months import months_of
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d{1,2}+(?!\d)")


class MonthNames(Rule):
    """Demands the months of dates, by name or number.

    For models that need it, as CLDR lacks cases in which other languages have months: v květnu 2020.
    """

    name = "month_names"
    scope = "sentence"

    def __init__(self, source: str = "", target: str = "") -> None:
        """Set the codes of both languages; if CLDR has no months of the target, nothing is demanded."""
        self._source, self._target = months_of(source), months_of(target)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(setting.source, setting.target)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each month as often as the dates of its source."""
        if not self._target.name(1) or _DIGIT.search(source.text) is None:
            return True
        wanted = Counter(month for _, _, month in self._source.in_dates(source.unprotected()))
        if not wanted:
            return True
        text = translation.text
        found = self._target.mentioned(text) + Counter(map(int, _DIGITS.findall(text)))
        return wanted <= found

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect these months, with their names in the target language."""
        if not self._target.name(1):
            return run
        return run.protecting(
            (begin, end, self._target.name(month))
            for begin, end, month in self._source.in_dates(run.text)
        )

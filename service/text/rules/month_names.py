"""Compares the months of dates, and days of the week, with the translation.

Small models confuse months if they are abbreviated, and misspell days of the week in brackets.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import Self

from service.text.languages import locale
from service.text.rules.months import months_of
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d{1,2}+(?!\d)")


class MonthNames(Rule):
    """Demands the months of dates, by name or number, and the days of the week, also in longer words.

    For models that need it, as CLDR lacks cases in which other languages have months: v květnu 2020.
    """

    name = "month_names"
    scope = "sentence"

    def __init__(self, source: str = "", target: str = "") -> None:
        """Set the codes of both languages; if CLDR has no months of the target, nothing is demanded."""
        self._source, self._target = months_of(source), months_of(target)
        names = _days(target)
        self._days = {name: names[day] for day, name in _days(source).items() if day in names}
        """The names of days in both languages."""

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(setting.source, setting.target)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each month as often as the dates of its source."""
        if self._lost_days(source, translation):
            return False
        if _DIGIT.search(source.text) is None or not self._target.name(1):
            return True
        wanted = Counter(month for _, _, month in self._source.in_dates(source.unprotected()))
        if not wanted:
            return True
        text = translation.text
        found = self._target.mentioned(text) + Counter(map(int, _DIGITS.findall(text)))
        return wanted <= found

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect these months, and lost days, with their names in the target language."""
        if not self._target.name(1):
            return run
        days = "|".join(map(re.escape, self._lost_days(run, translation)))
        if days:
            run = run.protecting(
                (*match.span(), self._days[match[0]])
                for match in re.finditer(rf"(?<!\w)(?:{days})(?!\w)", run.text)
            )
        return run.protecting(
            (begin, end, self._target.name(month))
            for begin, end, month in self._source.in_dates(run.text)
        )

    def _lost_days(self, source: Run, translation: Run) -> list[str]:
        """Return the days that a translation lacks; a compound may have them: Sunday morning."""
        if source.words.isdisjoint(self._days):
            return []
        days = sorted(self._days.keys() & source.words)
        text = translation.text.casefold()
        return [day for day in days if self._days[day].casefold() not in text]


@lru_cache(64)
def _days(code: str) -> dict[int, str]:
    """Return the names of the days of the week (from CLDR), by number; none for unknown languages."""
    known_locale = locale(code)
    return dict(known_locale.days["format"]["wide"]) if known_locale else {}

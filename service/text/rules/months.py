"""Names of months (from CLDR), which other languages and formats write as numbers: 5月, 05.05.2020."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from service.text.languages import locale

_SHORTEST = 3
"""Minimum letters of a name."""
_WITHIN = r"(?<=[\w,]\s)|(?<=\d[./-])|(?<=\d\.\s)"
"""What precedes a name within a sentence. At its beginning, "May" is a verb unless a number follows."""


class Months:
    """The names of months in one language."""

    def __init__(self, code: str) -> None:
        """Look up the names; CLDR has none for unknown languages."""
        self._numbers = _numbers(code)
        self.names = frozenset(self._numbers)
        names = "|".join(map(re.escape, sorted(self._numbers, key=len, reverse=True))) or "(?!)"
        self._name = re.compile(rf"(?:{_WITHIN}|(?<!\w)(?=\w++\W{{1,3}}\d))(?:{names})(?!\w)")
        self._any = re.compile(rf"(?<![^\W\d_])(?:{names})(?!\w)", re.IGNORECASE)
        self._in_any_case = {name.lower(): int(number) for name, number in self._numbers.items()}
        day, rest = r"(?<!\d)(?:3[01]|[12]\d|[1-9])\.?\s?", r"\.?,?\s\d"
        self._in_date = re.compile(
            rf"{day}(?P<behind>{names})(?!\w)|(?<!\w)(?P<front>{names})(?={rest})"
        )
        known_locale = locale(code)
        # a plain dict, as CLDR's looks for aliases at each access
        self._written = dict(known_locale.months["format"]["wide"]) if known_locale else {}

    def named(self, text: str) -> Counter[str]:
        """Return how often each month is named in a text; months are given as numbers."""
        return Counter(self._numbers[match[0]] for match in self._name.finditer(text))

    def mentioned(self, text: str) -> Counter[int]:
        """Return how often each month is named in a text, wherever that is and in any case."""
        names = self._any.findall(text)
        return Counter(self._in_any_case.get(name.lower(), 0) for name in names)

    def in_dates(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield the names behind the number of a day or before a number: begin, end, and the month."""
        for match in self._in_date.finditer(text):
            kind = "behind" if match["behind"] else "front"
            yield *match.span(kind), int(self._numbers[match[kind]])

    def name(self, month: int) -> str:
        """Return the name of a month in a date, or "" if it is unknown."""
        return str(self._written.get(month, ""))


@lru_cache(64)
def months_of(code: str) -> Months:
    """Return the months of a language."""
    return Months(code)


def _numbers(code: str) -> dict[str, str]:
    """Return the month's number of each name: wide and abbreviated, standalone and in dates."""
    known_locale = locale(code)
    names = (
        (name.rstrip("."), str(number))
        for kinds in (known_locale.months.values() if known_locale else ())
        for kind in ("wide", "abbreviated")
        for number, name in kinds[kind].items()
    )
    return {name: number for name, number in names if len(name) >= _SHORTEST and name.isalpha()}

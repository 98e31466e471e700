"""Names of months (from CLDR), which other languages and formats write as numbers: 5月, 05.05.2020."""

import re
from collections import Counter

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
        names = "|".join(map(re.escape, sorted(self._numbers, key=len, reverse=True))) or "(?!)"
        self._name = re.compile(rf"(?:{_WITHIN}|(?<!\w)(?=\w++\W{{1,3}}\d))(?:{names})(?!\w)")

    def named(self, text: str) -> Counter[str]:
        """Return how often each month is named in a text; months are given as numbers."""
        return Counter(self._numbers[match[0]] for match in self._name.finditer(text))


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

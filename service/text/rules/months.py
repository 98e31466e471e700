"""Names of months, which are numbers in other languages and formats: 5月, 05.05.2020. They are CLDR's."""

import re
from collections import Counter

from service.text.languages import locale

_SHORTEST = 3
"""Letters of a name."""
_WITHIN = r"(?<=[\w,]\s)|(?<=\d[./-])|(?<=\d\.\s)"
"""What is in front of a name within a sentence: without a number behind, "May" begins one as a verb."""


class Months:
    """Those of one language."""

    def __init__(self, code: str) -> None:
        """Look them up; of a language that is not known, there are none."""
        self._numbers = _numbers(code)
        names = "|".join(map(re.escape, sorted(self._numbers, key=len, reverse=True))) or "(?!)"
        self._name = re.compile(rf"(?:{_WITHIN}|(?<!\w)(?=\w++\W{{1,3}}\d))(?:{names})(?!\w)")

    def named(self, text: str) -> Counter[str]:
        """Their numbers, by how often each is named in a text."""
        return Counter(self._numbers[match[0]] for match in self._name.finditer(text))


def _numbers(code: str) -> dict[str, str]:
    """The number of each name, long or short, as it stands by itself or in a date."""
    found = locale(code)
    names = (
        (name.rstrip("."), str(number))
        for kinds in (found.months.values() if found else ())
        for kind in ("wide", "abbreviated")
        for number, name in kinds[kind].items()
    )
    return {name: number for name, number in names if len(name) >= _SHORTEST and name.isalpha()}

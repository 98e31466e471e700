"""Words behind numbers that say which power of ten they count: 3 million, 3万, 3 लाख.

Languages count in different ones: 万 is ten thousand, लाख a hundred thousand. So the digits of a right
translation may be others than those of its source: 100万 is 1 million. The words are CLDR's.
"""

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import NamedTuple

from babel.core import Locale, UnknownLocaleError

from service.text.words import TOUCHING

_FORMAT = re.compile(r"(0+)[ \u00a0]?([^;0]+)")
_NUMBER = rf"(?<![^\W{TOUCHING}])(?<![.,])\d{{1,15}}+(?:[.,'’]\d{{1,15}}+){{0,6}}+"
_SHARED = 3
"""Powers that languages share are multiples of it: thousand, million, billion."""


class Scaled(NamedTuple):
    """A number with such a word, or several that add up, as 1億2000万."""

    begin: int
    end: int
    value: str
    """In digits alone."""
    is_shared: bool
    """Whether most languages have words for all its powers."""


class Scales:
    """Those of one language."""

    def __init__(self, code: str, plain: Callable[[str], str]) -> None:
        """`plain` writes a number of the language with a dot as its decimal mark, if any."""
        self._plain = plain
        self._powers = _powers(code)
        words = "|".join(map(re.escape, sorted(self._powers, key=len, reverse=True))) or "(?!)"
        ends = rf"(?<=[{TOUCHING}])|(?!\w)"
        self._one = re.compile(rf"({_NUMBER})[ \u00a0\u202f]?({words})(?:{ends})", re.IGNORECASE)

    @property
    def are_shared(self) -> bool:
        """Whether most languages have words for all of its powers."""
        return all(power % _SHARED == 0 for power in self._powers.values())

    def find(self, text: str) -> Iterator[Scaled]:
        """All in a text."""
        so_far: Scaled | None = None
        for match in self._one.finditer(text):
            power = self._powers[match[2].casefold()]
            value = self._value(match[1], power)
            if value is None:
                continue
            found = Scaled(*match.span(), value, power % _SHARED == 0)
            if so_far and text[so_far.end : found.begin] in ("", " ", "\u00a0"):
                total = _written(Decimal(so_far.value) + Decimal(value))
                both = so_far.is_shared and found.is_shared
                found = Scaled(so_far.begin, found.end, total, both)
            elif so_far:
                yield so_far
            so_far = found
        if so_far:
            yield so_far

    def _value(self, number: str, power: int) -> str | None:
        plain = self._plain(number)
        is_number = plain.replace(".", "", 1).isdecimal()
        return _written(Decimal(plain).scaleb(power)) if is_number else None


def _written(value: Decimal) -> str:
    """Without zeros behind a decimal mark."""
    return f"{value.normalize():f}"


def _powers(code: str) -> dict[str, int]:
    """The words of a language, in small letters, and what power of ten each is; of single letters, none."""
    found: dict[str, int] = {}
    for name in (code, f"{code.partition('-')[0]}-Hant"):  # Chinese is written in two scripts
        try:
            formats = Locale.parse(name, sep="-").compact_decimal_formats
        except (UnknownLocaleError, ValueError):
            continue
        of_all = (
            one
            for kind in formats.values()
            for of_number in kind.values()
            for one in of_number.items()
        )
        for least, form in of_all:
            match = _FORMAT.match(form.pattern.replace("'", ""))
            word = match[2].strip().casefold() if match else ""
            if match and word and not (len(word) == 1 and word.isascii()):
                found.setdefault(word, round(math.log10(int(least))) - len(match[1]) + 1)
    return found

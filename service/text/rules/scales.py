"""Words for powers of ten after numbers: 3 million, 3万, 3 लाख.

Languages count in different powers: 万 is ten thousand, लाख a hundred thousand. So a correct translation may
have other digits than its source: 100万 is 1 million. The words are from CLDR, except those for small powers,
which are from the language profiles.
"""

import math
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import NamedTuple

import regex
from babel.numbers import format_compact_decimal

from service.text.languages import Language, locale
from service.text.words import TOUCHING

_FORMAT = regex.compile(r"(0+)[ \u00a0]?([^;0]+)")
_BLANK = r"[ \u00a0\u202f]"
_NUMBER = (
    rf"(?<![^\W{TOUCHING}])(?<![.,])(?P<number>\d{{1,15}}+(?:[.,'’]\d{{1,15}}+){{0,6}}+)(?![-:/]\d)"
)
_YEAR = rf"(?:19|20)(?!00)\d\d{_BLANK}"
"""A year, with which a word for a power of ten has nothing to do: En 2014 mille personnes."""
_DOT = r"(?:\.(?!\s*+\Z))?+"
"""The dot of an abbreviation; at the end of a text, it ends the sentence."""
_END, _END_OR_ENDING = r"(?!\w)", r"(?!\w{5})"
_MOST_WORDS = 4
"""Maximum number of words after a number."""
_MOST_DECIMALS = 9
"""Maximum number of decimals of an amount that is written with a word."""
_EXACT = Context(prec=1_000)
"""More digits than an amount can have, so nothing is rounded."""
_SHARED = 3
"""Most languages have words for multiples of this power: thousand, million, billion."""


class Scaled(NamedTuple):
    """A number with words for powers of ten, or a sum of such numbers: 5천만, 1億2000万, 12万3456."""

    begin: int
    end: int
    value: str
    """The amount in digits."""
    is_shared: bool
    """Whether most languages have words for all its powers."""


class Scales:
    """Finds amounts in one language: (number word+)+ number?, the last number directly after a word."""

    def __init__(self, language: Language, plain: Callable[[str], str]) -> None:
        """Build the patterns; `plain` writes a number of the language with a dot as the decimal mark."""
        self._plain = plain
        self._locale = locale(language.code)
        words = _words(language)
        self.words = frozenset(word for forms in words.values() for word in forms)
        self._powers = sorted(words)
        # a group for each power: looking words up would need the pattern's exact case folding
        groups = "|".join(
            f"({'|'.join(map(_pattern, sorted(words[power], key=len, reverse=True)))})"
            for power in self._powers
        )
        self._word = rf"(?:{groups or '(?!)'})"
        self._gap = "" if not language.separates_words else rf"{_BLANK}?+"
        part = self._ending(_END).replace(_DOT, r"\.?+")  # within an amount, which may end here
        self._part = regex.compile(rf"{_NUMBER}|{part}", regex.IGNORECASE)

    @cached_property
    def _amounts(self) -> regex.Pattern[str]:
        return self._sums(_END)

    @cached_property
    def _amounts_with_endings(self) -> regex.Pattern[str]:
        return self._sums(_END_OR_ENDING)

    def _sums(self, end: str) -> regex.Pattern[str]:
        """Return the pattern of amounts, after whose words `end` matches."""
        word = self._ending(end)
        term = rf"(?!{_YEAR}){_NUMBER}(?:(?:(?<![{TOUCHING}]){_BLANK})?+{word}){{1,{_MOST_WORDS}}}+"
        amount = rf"{term}(?:{_BLANK}?+{term})*+(?:(?<=[{TOUCHING}]){self._gap}{_NUMBER})?+"
        return regex.compile(amount, regex.IGNORECASE)

    def _ending(self, end: str) -> str:
        """Return the pattern of a word, after which `end` matches."""
        return rf"{self._word}(?:(?<=[{TOUCHING}])|{end})"

    @property
    def are_shared(self) -> bool:
        """Whether most languages have words for all of its powers."""
        return all(power % _SHARED == 0 for power in self._powers)

    def written(self, value: str) -> str | None:
        """Write an amount in digits with the language's word: 1500000 is 1.5 million.

        None if CLDR has no word for it, or has it only for a rounded amount.
        """
        if self._locale is None:
            return None
        with localcontext(_EXACT):
            text = format_compact_decimal(
                Decimal(value),
                format_type="long",
                locale=self._locale,
                fraction_digits=_MOST_DECIMALS,
            )
        is_read_back = [scaled[:3] for scaled in self.find(text)] == [(0, len(text), value)]
        return text if is_read_back else None

    @property
    def are_known(self) -> bool:
        """Whether the language has such words."""
        return bool(self._powers)

    def find(self, text: str, *, with_endings: bool = False) -> Iterator[Scaled]:
        """Yield the amounts in a text; `with_endings`, words may have up to four more letters: milionami."""
        amounts = self._amounts_with_endings if with_endings else self._amounts
        for amount in amounts.finditer(text):
            with localcontext(_EXACT):
                scaled = self._read(text, *amount.span())
            if scaled:
                yield scaled

    def _read(self, text: str, begin: int, end: int) -> Scaled | None:
        """Read an amount; return None if a part of it is not a number."""
        sums: list[Decimal] = []
        """Terms to be added, unless a larger power multiplies the smaller ones before it: 3千5百万."""
        unit, is_shared, amount_end = Decimal(1), True, end
        for part in self._part.finditer(text, begin, end):
            if part["number"]:
                number = self._plain(part["number"])
                if not number.replace(".", "", 1).isdecimal():
                    return None
                sums.append(Decimal(number))
                continue
            power = self._powers[(part.lastindex or 0) - 2]
            unit, amount_end = Decimal(10) ** power, part.end()
            is_shared = is_shared and power % _SHARED == 0
            value = sums.pop()
            while sums and sums[-1] < unit:
                value += sums.pop()
            sums.append(value * unit)
        if amount_end < end and sums[-1] >= unit:
            sums.pop()  # not a part of the amount, but the text's next number
            end = amount_end
        return Scaled(begin, end, f"{sum(sums, Decimal()).normalize():f}", is_shared)


def _pattern(word: str) -> str:
    """Return a pattern for a word, whose dot may be missing."""
    return regex.escape(word[:-1]) + _DOT if word.endswith(".") else regex.escape(word)


def _words(language: Language) -> dict[int, set[str]]:
    """Return a language's words for each power of ten, except single ASCII letters: 2 m."""
    words_of_powers = {power: {word} for power, word in enumerate(language.powers_of_ten, start=1)}
    # Chinese is written in two scripts
    for name in (language.code, f"{language.code.partition('-')[0]}-Hant"):
        known_locale = locale(name)
        forms = (
            form
            for kind in (known_locale.compact_decimal_formats.values() if known_locale else ())
            for forms_of_power in kind.values()
            for form in forms_of_power.items()
        )
        for power_of_ten, form in forms:
            match = _FORMAT.match(form.pattern.replace("'", ""))
            word = match[2].strip() if match else ""
            if match and word and not (len(word.removesuffix(".")) == 1 and word.isascii()):
                power = round(math.log10(int(power_of_ten))) - len(match[1]) + 1
                words_of_powers.setdefault(power, set()).add(word)
    return words_of_powers

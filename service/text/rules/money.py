"""Reads the amounts of money in a text: 20 €, $1.5 million, CHF 3–5, 8,– £.

Names of currencies, and where a language writes their signs, are from CLDR.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple

import regex
from babel.core import Locale
from babel.numbers import get_currency_name, get_currency_symbol

from service.text.languages import Language, locale
from service.text.rules.figures import BLANKS, Figures, Number, Read
from service.text.run import Stretch
from service.text.words import TOUCHING

_DOLLARS = ("AUD", "CAD", "HKD", "NZD", "SGD", "USD")
_WITHOUT_SIGN = ("CHF", "CZK", "DKK", "HUF", "NOK", "PLN", "SEK")
CODES: dict[str, str] = {
    **dict.fromkeys(_DOLLARS, "$"),
    **{"CNY": "¥", "EUR": "€", "GBP": "£", "INR": "₹", "JPY": "¥", "KRW": "₩", "TRY": "₺"},
    **{code: code for code in _WITHOUT_SIGN},
}
"""The sign for each ISO 4217 code of a currency that is traded much; other codes may be words: TOP 10."""
SIGN = regex.compile(r"\p{Sc}")
_MARK = regex.compile(
    rf"""
    (?: (?<![\p{{L}}\p{{Nd}}])\p{{Lu}}{{1,3}} )? (?P<sign>\p{{Sc}})  # €, US$
  | (?<![\w.-])(?P<code>{"|".join(CODES)})(?![\w-])
    """,
    regex.VERBOSE,
)
_COUNTS = (None, 1, 2, 5, 1.5)
"""Numbers after which languages have different forms of a noun."""
_BLANK = rf"[{BLANKS}]{{0,2}}+"
_NO_CENTS = r"(?:[.,][-–—]{1,2})?+"
_GAP_BEFORE = regex.compile(_BLANK)
_GAP_BEHIND = regex.compile(rf"{_NO_CENTS}(?:-|{_BLANK})")  # 5-€-Schein


class _Mark(NamedTuple):
    """A sign, code or name of a currency."""

    begin: int
    end: int
    signs: list[str]
    """Those of all currencies that it may mean; a code if there is no sign."""
    kind: Literal["sign", "code", "name"]


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of a text."""

    certain: Read = field(default_factory=list)
    """Numbers beside a sign or a code, and signs without a number."""
    possible: Counter[str] = field(default_factory=Counter)
    """Values that may have the same currency: the first of 20 to 30 $, the amount of 5 dollars."""
    marked: list[tuple[_Mark, Number | None]] = field(default_factory=list)
    """Signs and codes, with the number that each belongs to."""

    def add_lone(self, mark: _Mark) -> None:
        """Add a mark that is not beside a number."""
        if mark.kind == "sign":
            self.certain.append((mark.signs[0], mark.signs))
            self.marked.append((mark, None))
        elif mark.kind == "name":
            self.possible.update(mark.signs)

    def add(self, mark: _Mark, number: Number) -> None:
        """Add a mark and the number that it belongs to."""
        if mark.kind == "name":
            self.add_possible(mark, [number])
            return
        [sign] = mark.signs
        self.certain.append((f"{sign}{number.written}", [f"{sign}{one}" for one in number.values]))
        self.marked.append((mark, number))

    def add_possible(self, mark: _Mark, numbers: Iterable[Number]) -> None:
        """Add numbers that a mark may also belong to."""
        self.possible.update(
            f"{sign}{value}" for sign in mark.signs for one in numbers for value in one.values
        )


class Money:
    """Reads the amounts of one language."""

    def __init__(self, language: Language) -> None:
        """Look up the language's names of currencies and its words between numbers."""
        self._figures = Figures(language)
        self._names = _names(language)
        names = "|".join(map(regex.escape, sorted(self._names, key=len, reverse=True))) or "(?!)"
        self._name = regex.compile(
            rf"(?<![^\W\d_{TOUCHING}])(?:{names})(?:(?<=[{TOUCHING}])|(?!\w))", regex.IGNORECASE
        )
        words = "|".join(map(regex.escape, _between(language)))
        self._joins = regex.compile(
            rf"{_NO_CENTS}{_BLANK}(?:[-–—/]|{words or '(?!)'}){_BLANK}", regex.IGNORECASE
        )
        self._sign_is_first = _sign_is_first(language)

    @property
    def knows_scales(self) -> bool:
        """Whether the language's words for powers of ten are known."""
        return self._figures.scales.are_known

    def read(self, text: str, *, scaled: bool = True) -> Amounts:
        """Return the amounts of a text; with `scaled`, 3 million is 3000000."""
        numbers = list(self._figures.numbers(text, scaled=scaled))
        spans = [(one.begin, one.end) for one in numbers]
        """Those of the numbers with the marks beside them."""
        owners: list[tuple[int, _Mark]] = []
        taken: set[int] = set()
        found = Amounts()
        for mark in self._marks(text):
            beside = self._beside(text, numbers, mark, taken)
            if not beside:
                found.add_lone(mark)
                continue
            own, *others = beside
            if mark.kind == "name" and own in taken:
                continue  # $5 dollars
            found.add(mark, numbers[own])
            found.add_possible(mark, [numbers[other] for other in others])
            spans[own] = min(mark.begin, spans[own][0]), max(mark.end, spans[own][1])
            owners.append((own, mark))
            taken.add(own)
        for own, mark in owners:
            steps = (-1, 1) if mark.begin < numbers[own].begin else (-1,)
            joined = (one for step in steps for one in self._joined(text, spans, own, step, taken))
            found.add_possible(mark, [numbers[other] for other in joined])
        return found

    def stretches(self, text: str, target: "Money") -> Iterator[Stretch]:
        """Yield each sign and code with its number, to be protected.

        A number with a word for a power of ten is written as the target language does, if it has such a word.
        """
        for mark, number in self.read(text).marked:
            if number is None:
                yield mark.begin, mark.end
                continue
            begin, end = min(mark.begin, number.begin), max(mark.end, number.end)
            if number.end == number.end_of_digits:
                yield begin, end
            elif written := target.written(number):
                yield begin, end, f"{text[begin : number.begin]}{written}{text[number.end : end]}"
            else:
                yield begin, max(mark.end, number.end_of_digits)

    def written(self, number: Number) -> str | None:
        """Write a number with a word for a power of ten; None if the language has no such word."""
        return self._figures.scales.written(number.values[0]) if len(number.values) == 1 else None

    def _marks(self, text: str) -> Iterator[_Mark]:
        for match in _MARK.finditer(text):
            if match["sign"]:
                yield _Mark(*match.span(), [unicodedata.normalize("NFKC", match["sign"])], "sign")
            else:
                yield _Mark(*match.span(), [CODES[match["code"]]], "code")
        for match in self._name.finditer(text):
            yield _Mark(*match.span(), sorted(self._names.get(match[0].casefold(), ())), "name")

    def _beside(
        self, text: str, numbers: Sequence[Number], mark: _Mark, taken: Set[int]
    ) -> list[int]:
        """Return the numbers beside a mark, as indices; the first is the one that it most likely belongs to.

        That is one without a space between, otherwise one that is not taken by another mark, otherwise the
        one on the side on which the language has it.
        """
        behind = bisect_left(numbers, mark.end, key=_begin)
        before = behind - 1
        gaps: dict[int, int] = {}
        if before >= 0 and _matches(_GAP_BEHIND, text, numbers[before].end, mark.begin):
            gaps[before] = mark.begin - numbers[before].end
        if behind < len(numbers) and _matches(_GAP_BEFORE, text, mark.end, numbers[behind].begin):
            gaps[behind] = numbers[behind].begin - mark.end
        usual = behind if self._sign_is_first else before
        return sorted(gaps, key=lambda one: (gaps[one] > 0, one in taken, one != usual))

    def _joined(
        self, text: str, spans: Sequence[tuple[int, int]], own: int, step: int, taken: Set[int]
    ) -> Iterator[int]:
        """Yield the numbers before or after one with a mark that may share it: 5, 10 in 5 to 10 €."""
        at, following = own, own + step
        while 0 <= following < len(spans) and following not in taken:
            first, last = sorted((at, following))
            if not _matches(self._joins, text, spans[first][1], spans[last][0]):
                break
            yield following
            at, following = following, following + step


_begin = attrgetter("begin")


def _matches(gap: regex.Pattern[str], text: str, begin: int, end: int) -> bool:
    return begin <= end and gap.fullmatch(text, begin, end) is not None


def _names(language: Language) -> dict[str, set[str]]:
    """Return the signs that each of a language's names of currencies may mean: dollars, US dollars, 円."""
    known = locale(language.code)
    # dollars canadiens, Canadian dollars: dollars have the noun in common
    dollars = [_words(name) for code in _DOLLARS for name in _forms(known, code)]
    noun = min((0, -1), key=lambda place: len({words[place] for words in dollars}))
    found: dict[str, set[str]] = {}
    for code, sign in CODES.items():
        for name in _forms(known, code):
            for one in (name, _words(name)[noun]):
                found.setdefault(one, set()).add(sign)
    return found


def _words(name: str) -> list[str]:
    return re.split(r"[\s-]", name)


def _forms(known: Locale | None, code: str) -> set[str]:
    """Return the name of a currency in all its forms, in lower case, and its abbreviation."""
    if known is None:
        return set()
    names = [get_currency_name(code, count, known) for count in _COUNTS]
    names.append(get_currency_symbol(code, known))
    return {one.casefold() for one in names if SIGN.search(one) is None}


def _between(language: Language) -> list[str]:
    """Return a language's words between numbers that may share a sign: to, and, or."""
    known = locale(language.code)
    lists = [known.list_patterns[kind]["2"] for kind in ("standard", "or")] if known else []
    words = (one.replace("{0}", "").replace("{1}", "").strip() for one in lists)
    return [*language.range_words, *(word for word in words if word.isalpha())]


def _sign_is_first(language: Language) -> bool:
    """Check whether a language writes signs of currencies before the number; False if it is unknown."""
    known = locale(language.code)
    pattern = known.currency_formats["standard"].pattern if known else "0¤"
    return pattern.index("¤") < pattern.index("0")

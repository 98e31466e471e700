"""Finds the numbers that another language writes with other marks: German 1.299,00 is English 1,299.00.

1.500 and 2.5 may also be the number of a version or a section, or written as the other language does. The
words in front of a number and the other numbers of a document show which.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from enum import IntEnum
from functools import lru_cache
from typing import Literal, NamedTuple, cast

import regex

from service.text.languages import NEUTRAL, Language
from service.text.rules.currency_names import CODES, names, words_between
from service.text.rules.figures import figures_of
from service.text.rules.unit_names import names_of_units
from service.text.run import Stretch
from service.text.segmenter import has_letter
from service.text.words import BLANKS, any_of

MAY_HAVE_AMOUNT = regex.compile(r"\d[.,]\d")
"""A fast check: most texts have no number with a mark."""
_QUOTES = "\"'“”„‘’«»"
_BEGIN = rf"(?<![\w.,/×{_QUOTES}])(?<!(?<!\d):)(?<!\w-)(?!(?<=\d\d:)[0-5]\d[.,]\d)"
_END = r"(?![.,:/×'’-]?\w)"
"""What is not beside an amount: a2.5, 2.5.x, 1.5em. Numbers in quotes and parts of seconds are literal."""
_GROUPS_OF_DOTS = regex.compile(r"\d{1,3}(?:\.\d{3})+")
_ADDRESS = regex.compile(r"\d{1,3}(?:\.[12]\d\d){3}")
"""192.168.100.200"""
_CURRENCY = regex.compile(rf"(?:\p{{Sc}}|(?<!\w)(?:{any_of(CODES)}))[{BLANKS}]?\Z")
_PAIR = regex.compile(r"[(\[{][\d,]++[)\]}]")
"""Whole numbers, such as coordinates: (0,1)."""
_NO_UNITS = frozenset(["in", *"#\"'″′"])
"""Names and signs of units that have other meanings after a number."""
_NOTHING = regex.compile("(?!)")
"""What every pattern of a direction is that converts no numbers."""
_COMPOUND_LETTERS = 5
"""Letters of a label that may be the end of a compound word: Artikelnummer."""
_IDENTIFIERS = ("number", "version")
"""What labels with a colon mean that are in front of no amount; Pages: 1.500 is one."""
_NAME_CHARACTERS = 40
"""Characters in front of a number among which its name is looked for."""


class Standing(IntEnum):
    """How likely a number is an amount that is written as its language does."""

    POSSIBLE = 1
    """2.5 is a decimal, or the number of a version or a section."""
    LIKELY = 2
    """Groups of three digits after dots, as few versions have: 1.500."""
    CERTAIN = 3
    """A comma, or a unit or a sign of a currency: 1.299,00 - 12,5 - 2.5 % - $2.50."""


_Prefix = Literal["label", "name"] | None
"""What is in front of a number: a label, a word with a capital, or neither."""


class Amount(NamedTuple):
    """A number in a text that may be an amount."""

    begin: int
    end: int
    written: str
    """The number as the other language writes it."""
    standing: Standing


class Notation:
    """Finds the numbers of one language that another writes with another decimal mark."""

    def __init__(self, source: Language, target: Language) -> None:
        """Look up the marks of both languages, and the words that say what a number is."""
        self.least = Standing.LIKELY
        """Numbers of this standing or a higher one are converted."""
        self._number = self._reversed = self._unit = self._name = self._joint = _NOTHING
        self._exchanged: dict[int, str] = {}
        ours, theirs = figures_of(source), figures_of(target)
        self._clock, self._scales = ours.clock, ours.scales
        self._mark, group = ours.marks
        if self._mark not in (".", ",") or theirs.marks[0] in ("", self._mark):
            return
        marks = zip(ours.marks, theirs.marks, strict=True)
        self._exchanged = str.maketrans({mark: written for mark, written in marks if mark})
        other = "," if self._mark == "." else "."
        self._number = _number(self._mark, other if group == other else "")
        self._reversed = _number(other, self._mark)
        units = names_of_units(source.code)
        words, signs = {*units.words, *names(source)}, {*units.signs, *CODES} - _NO_UNITS
        # a capital may begin a title: 2.5 A new hope, 2.1 Byte order
        signs = {sign for sign in signs if len(sign) > 1 or not sign.isupper()}
        case = "i" if source.capitalizes_nouns else ""
        self._unit = regex.compile(
            rf"[{BLANKS}]?(?:\p{{Sc}}|(?:{any_of(signs)}|(?{case}:{any_of(words)}))(?!\w))"
        )
        known = source.number_labels
        labels, identifiers = (
            any_of(label for kind in kinds for label in known.get(kind, ()))
            for kinds in (known, _IDENTIFIERS)
        )
        begin = rf"(?:(?<!\w)|(?=\w{{{_COMPOUND_LETTERS}}}))"
        label = rf"(?P<label>{begin}(?i:{labels}|(?:{identifiers}):))"
        capital = "(?!)" if source.capitalizes_nouns else r"(?<![^\s(])[\w.+#-]*\p{Lu}[\w.+#-]*"
        # (?r): searched backwards, from the number
        self._name = regex.compile(rf"(?r)(?:{label}|(?P<name>{capital}))[{BLANKS}]\Z")
        self._joint = regex.compile(
            rf",?[{BLANKS}]?(?:[,–/-]|{any_of(words_between(source))})[{BLANKS}]?"
        )

    def adapted(self, texts: Sequence[str]) -> "Notation":
        """Return the notation for a document with these texts, the same one for most documents.

        If a number is in the other language's notation, none is converted. In a document without words, only
        what is certain is.
        """
        found = list(filter(MAY_HAVE_AMOUNT.search, texts))
        if any(map(self._is_contrary, found)):
            return notation_of(NEUTRAL, NEUTRAL)
        if not found or any(map(has_letter, texts)):
            return self
        bare = copy(self)
        bare.least = Standing.CERTAIN
        return bare

    def written(self, text: str) -> str:
        """Write all numbers of a text, which must be amounts, as the other language does."""
        return self._number.sub(lambda match: match[0].translate(self._exchanged), text)

    def stretch(self, text: str, begin: int, end: int) -> Stretch:
        """Return a stretch with amounts, to be protected as the other language writes it."""
        written = self.written(text[begin:end])
        return (begin, end) if written == text[begin:end] else (begin, end, written)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of all numbers that are in the language's notation, in order."""
        yield from (match.span() for match in self._number.finditer(text))

    def amounts(self, text: str) -> Iterator[Amount]:
        """Yield the numbers of a text that may be amounts, in order.

        Those of a list have the highest standing among them: 1.5 and 2.5 in 1.5–2.5 GB.
        """
        lists = list(self._lists(text, self._number))
        times = {time.begin for time in self._clock.times(text)} if lists else set()
        for numbers, prefix in lists:
            standings = [self._standing(number, prefix) for number in numbers]
            highest = max(filter(None, standings), default=Standing.POSSIBLE)
            for number, standing in zip(numbers, standings, strict=True):
                if standing and number.start() not in times:
                    yield Amount(*number.span(), self.written(number[0]), highest)

    def named(self, text: str) -> Iterator[str]:
        """Yield the numbers of a text that are no amounts, as a label says: Figure 3.2."""
        lists = self._lists(text, self._number)
        labelled = [number for numbers, prefix in lists if prefix == "label" for number in numbers]
        counted = (
            {begin for begin, *_ in self._scales.find(text)} if labelled else ()
        )  # 2.5 million
        for number in labelled:
            if not (self._has_unit(number) or number.start() in counted):
                yield number[0]

    def written_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of all numbers that are in the other language's notation, in order."""
        yield from (match.span() for match in self._reversed.finditer(text))

    def _is_contrary(self, text: str) -> bool:
        """Check whether a text has a number in the other language's notation: 0.5 or 12.50 € in German."""
        return any(
            prefix != "label"
            and not self._number.fullmatch(number[0])
            and (
                ("." in number[0] and "," in number[0])
                or (number[0].startswith("0") and not prefix)
                or self._has_unit(number)
            )
            for numbers, prefix in self._lists(text, self._reversed)
            for number in numbers
        )

    def _lists(
        self, text: str, pattern: regex.Pattern[str]
    ) -> Iterator[tuple[list[regex.Match[str]], _Prefix]]:
        """Yield the numbers of each list, such as PHP 8.1 and 8.2, and what is in front of it."""
        if not MAY_HAVE_AMOUNT.search(text):
            return
        lists: list[list[regex.Match[str]]] = []
        for number in pattern.finditer(text):
            if lists and self._joint.fullmatch(text, lists[-1][-1].end(), number.start()):
                lists[-1].append(number)
            else:
                lists.append([number])
        for numbers in lists:
            begin = numbers[0].start()
            name = self._name.search(text, max(0, begin - _NAME_CHARACTERS), begin)
            yield numbers, cast(_Prefix, name.lastgroup) if name else None

    def _standing(self, number: regex.Match[str], prefix: _Prefix) -> Standing | None:
        """Return the standing of a number; None if it is no amount."""
        if "," in number[0]:
            is_pair = self._mark == "," and _PAIR.match(number.string, max(0, number.start() - 1))
            return None if is_pair else Standing.CERTAIN
        if prefix == "label":
            return None
        if self._has_unit(number):
            return Standing.CERTAIN
        if _GROUPS_OF_DOTS.fullmatch(number[0]):
            return None if _ADDRESS.fullmatch(number[0]) else Standing.LIKELY
        return None if prefix else Standing.POSSIBLE

    def _has_unit(self, number: regex.Match[str]) -> bool:
        """Check whether a unit or a currency is beside a number."""
        text, begin, end = number.string, *number.span()
        return bool(self._unit.match(text, end) or _CURRENCY.search(text, max(0, begin - 5), begin))


notation_of = lru_cache(maxsize=256)(Notation)
"""Return the notation of a direction; rules share them."""


def _number(mark: str, group: str) -> regex.Pattern[str]:
    """Return a pattern for numbers with groups of digits or decimals: 1,234,567.89."""
    mark, group = regex.escape(mark), regex.escape(group)
    groups = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}}){{1,4}}(?:{mark}\d++)?|" if group else ""
    seconds = rf"(?<=\d:)[0-5]\d{mark}\d"  # 2:14.5 is a time, but 1:50,000 a scale
    return regex.compile(rf"{_BEGIN}(?!{seconds})(?:{groups}\d++{mark}\d++){_END}")

"""Reads the amounts of money in a text: 20 €, $1.5 million, CHF 3–5, 8,– £."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple

import regex

from service.text.languages import Language
from service.text.normal_forms import normalize
from service.text.rules.currency_names import CODES, names, sign_is_first, words_between
from service.text.rules.figures import Number, Read, figures_of, plus
from service.text.rules.notation import Notation
from service.text.run import Stretch
from service.text.words import BLANKS, TOUCHING, any_of

_MARK = regex.compile(
    rf"""
    (?: (?<![\p{{L}}\p{{Nd}}])\p{{Lu}}{{1,3}} )? (?P<sign>\p{{Sc}})  # €, US$
  | (?<![\w.-])(?P<code>{"|".join(CODES)})(?![\w-])
    """,
    regex.VERBOSE,
)
_SPACES = rf"[{BLANKS}]{{0,2}}+"
_NO_CENTS = r"(?:[.,][-–—]{1,2})?+"  # 8,– €
_BEFORE_NUMBER = regex.compile(_SPACES)
_AFTER_NUMBER = regex.compile(  # also 5-€-Schein, 5 millions de dollars
    rf"{_NO_CENTS}(?:-|{_SPACES}(?:d[ei][{BLANKS}]|d['’])?+)"
)
"""What may be between a mark and its number."""


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
        self.certain.append(
            (f"{sign}{number.written}", [f"{sign}{value}" for value in number.values])
        )
        self.marked.append((mark, number))

    def add_possible(self, mark: _Mark, numbers: Iterable[Number]) -> None:
        """Add numbers that a mark may also belong to."""
        self.possible.update(
            f"{sign}{value}" for sign in mark.signs for number in numbers for value in number.values
        )


class Money:
    """Reads the amounts of one language."""

    def __init__(self, language: Language) -> None:
        """Look up the language's names of currencies and its words between numbers."""
        self.figures = figures_of(language)
        self._names = names(language)
        self._name = regex.compile(
            rf"(?<![^\W\d_{TOUCHING}])(?:{any_of(self._names)})(?:(?<=[{TOUCHING}])|(?!\w{{5}}))",
            regex.IGNORECASE,  # with an ending, such as dollarilla
        )
        self._joins = regex.compile(
            rf"{_NO_CENTS}{_SPACES}(?:[-–—/]|{any_of(words_between(language))}){_SPACES}",
            regex.IGNORECASE,
        )
        self._sign_is_first = sign_is_first(language)

    @property
    def knows_scales(self) -> bool:
        """Whether the language's words for powers of ten are known."""
        return self.figures.scales.are_known

    def read(self, text: str, *, scaled: bool = True) -> Amounts:
        """Return the amounts of a text; with `scaled`, 3 million is 3000000."""
        numbers = list(self.figures.numbers(text, scaled=scaled))
        # these grow by the marks
        spans = [(number.begin, number.end) for number in numbers]
        owners: list[tuple[int, _Mark]] = []
        marked: set[int] = set()
        amounts = Amounts()
        for mark, owner in self._owned(text, numbers):
            if owner is None:
                amounts.add_lone(mark)
                continue
            if mark.kind == "name" and owner in marked:
                continue  # $5 dollars
            amounts.add(mark, numbers[owner])
            spans[owner] = min(mark.begin, spans[owner][0]), max(mark.end, spans[owner][1])
            owners.append((owner, mark))
            marked.add(owner)
        for owner, mark in owners:
            steps = (-1, 1) if mark.begin < numbers[owner].begin else (-1,)
            for step in steps:
                joined = self._joined(text, spans, owner, step, marked)
                amounts.add_possible(mark, (numbers[index] for index in joined))
        return amounts

    def stretches(self, text: str, target: "Money", notation: Notation) -> Iterator[Stretch]:
        """Yield each number with its signs and codes, and those without a number, to be protected.

        A number is written as the notation says, and so is one with a word for a power of ten, if the
        target language has such a word.
        """
        owned: dict[int, tuple[Number, int, int]] = {}
        """Each number, by its place, and the stretch with its marks."""
        for mark, number in self.read(text).marked:
            if number is None:
                yield mark.begin, mark.end
                continue
            _, begin, end = owned.get(number.begin, (number, number.begin, number.end_of_digits))
            owned[number.begin] = number, min(mark.begin, begin), max(mark.end, end)
        for number, begin, end in owned.values():
            if number.end == number.end_of_digits:
                yield notation.stretch(text, begin, end)
            elif written := target.written(number):
                end = max(end, number.end)
                yield begin, end, f"{text[begin : number.begin]}{written}{text[number.end : end]}"
            else:
                yield begin, end

    def written(self, number: Number) -> str | None:
        """Write a number with a word for a power of ten; None if the language has no such word."""
        written = self.figures.scales.written(number.values[0]) if len(number.values) == 1 else None
        return written and f"{plus(number)}{written}"

    def _marks(self, text: str) -> Iterator[_Mark]:
        for match in _MARK.finditer(text):
            if match["sign"]:
                yield _Mark(*match.span(), [normalize("NFKC", match["sign"])], "sign")
            else:
                yield _Mark(*match.span(), [CODES[match["code"]]], "code")
        for match in self._name.finditer(text):
            yield _Mark(*match.span(), sorted(self._names.get(match[0].casefold(), ())), "name")

    def _owned(self, text: str, numbers: Sequence[Number]) -> Iterator[tuple[_Mark, int | None]]:
        """Yield each mark with the index of the number that it belongs to; None if it is not beside one.

        Between two numbers, it is on the side on which the language has it, unless more numbers of the text
        have a mark if it is on the other side.
        """
        marks = list(self._marks(text))
        sides = [
            _owners(text, numbers, marks, is_first=is_first)
            for is_first in (self._sign_is_first, not self._sign_is_first)
        ]
        yield from zip(marks, max(sides, key=lambda owners: len(set(owners))), strict=True)

    def _joined(
        self, text: str, spans: Sequence[tuple[int, int]], owner: int, step: int, marked: Set[int]
    ) -> Iterator[int]:
        """Yield the numbers before or after one with a mark that may share it: 5, 10 in 5 to 10 €."""
        index, following = owner, owner + step
        while 0 <= following < len(spans) and following not in marked:
            first, last = sorted((index, following))
            if not _matches(self._joins, text, spans[first][1], spans[last][0]):
                break
            yield following
            index, following = following, following + step


def _owners(
    text: str, numbers: Sequence[Number], marks: Iterable[_Mark], *, is_first: bool
) -> list[int | None]:
    """Return the index of the number that each mark belongs to; None if it is not beside one.

    That is one without a space between, otherwise one without another mark, otherwise the one after the mark
    if the mark `is_first`.
    """
    owners: list[int | None] = []
    marked: set[int] = set()
    for mark in marks:
        after = bisect_left(numbers, mark.end, key=_begin)
        before = after - 1
        gaps: dict[int, int] = {}
        if before >= 0 and _matches(_AFTER_NUMBER, text, numbers[before].end, mark.begin):
            gaps[before] = mark.begin - numbers[before].end
        if after < len(numbers) and _matches(_BEFORE_NUMBER, text, mark.end, numbers[after].begin):
            gaps[after] = numbers[after].begin - mark.end
        usual = after if is_first else before
        order = sorted(gaps, key=lambda index: (gaps[index] > 0, index in marked, index != usual))
        owners.append(order[0] if order else None)
        marked.update(order[:1])
    return owners


_begin = attrgetter("begin")


def _matches(gap: regex.Pattern[str], text: str, begin: int, end: int) -> bool:
    return begin <= end and gap.fullmatch(text, begin, end) is not None

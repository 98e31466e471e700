"""Reads the numbers in a text, according to how its language writes decimals and times of day."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from service.text.languages import Language, locale
from service.text.normal_forms import normalize
from service.text.rules.clock import Clock
from service.text.rules.months import months_of
from service.text.rules.scales import Scales
from service.text.words import BLANKS, any_of

FRACTIONS = "¼-¾⅐-⅞"
"""Signs for fractions, for a set."""
_LETTER = r"\p{Latin}\p{Greek}\p{Cyrillic}"
"""Letters of scripts with spaces between words, in which a word with a digit is not a whole sentence."""
_WORD = rf"[{_LETTER}]{{0,20}}+[\p{{Nd}}{FRACTIONS}][{_LETTER}\p{{Nd}}{FRACTIONS}]*+"
"""A word with digits or signs for fractions: 12, B2, 1990er, 1½."""
_JOINED = rf"""(?:
    [-./,:'’_+٫٬]
    (?: {_WORD}
      | \p{{Lu}}{{1,8}}+(?![{_LETTER}])  # AX-12-B
      | [a-z]{{1,8}}+[.-]\p{{Nd}}++      # 2.0-rc.1
    )
)*+"""
"""Words that are joined to a number by marks: 1.234,56 - 10:15 - 2024-05-03."""
_IN_FRONT = r"""(?:
    \p{Lu}{1,3}-\p{Lu}{1,3}[ ](?=\p{Nd})  # HH-AB 12
  | \p{Lu}{1,8}+[-./]                     # AX-9920
)?+"""
_BEGIN = rf"""
    (?: (?<![\w)\]])[-−–] )?     # a minus sign
    (?<![{_LETTER}\p{{Nd}}])
    (?: [+#] | §{{1,2}}[ \u00a0]? )?+
    (?: (?<![\w.,])[.,](?=\p{{Nd}}) )?+  # .05
"""
_FIGURE = rf"""
    {_BEGIN} {_IN_FRONT} {_WORD} {_JOINED}
    (?: [ ]?[x×][ ]?(?=\p{{Nd}}) {_WORD} {_JOINED} )*+  # 30 x 40
"""
_PHONE = r"""
    [+0] (?<! (?: [\w.,] | \p{Nd}-*[ \u00a0]? ) . )  # not within a row: each row is read once
    \p{Nd}{1,5}+
    (?: [ \u00a0]\p{Nd}[\p{Nd}-]*+ )++
    (?! [\w.,:/]\p{Nd} )
"""
_FIGURES = regex.compile(rf"{_PHONE}|{_FIGURE}", regex.VERBOSE)
_FOLLOWING = rf"[{BLANKS}–] \p{{Nd}}[{_LETTER}\p{{Nd}}]*+ {_JOINED}"
NUMBER = regex.compile(rf"{_FIGURE} (?:{_FOLLOWING})*+", regex.VERBOSE)
"""A number that is protected as a whole, with groups of digits and ranges: DE89 3704 0044 - 9–17."""
_DIGIT = re.compile(r"\d")
_FRACTION_SIGN = re.compile(f"[{FRACTIONS}]")
_GROUPED = regex.compile(rf"(?<![\d.,])\d{{1,3}}(?:[{BLANKS}]\d{{3}}(?!\d))++")
_UNNAMED = regex.compile(rf"(?<!(?<=\s)\p{{Lu}}\p{{L}}{{1,20}}[{BLANKS}]){_GROUPED.pattern}")
"""Groups, not two numbers as in "Haus 4 310 €", where a language usually writes 4.310."""
_DECIMALS = re.compile(r"(?:[.,]\d++)?")
_BY = re.compile(r"[x×](?=[ ]?\d)")
_FRACTION = re.compile(r"\d[.,]\d")
_CODE = regex.compile(r"\p{Lu}|\d[ \u00a0]\d|[a-z][.-]?\d|§")  # AX-9920, v2.0-rc.1, § 433
_NAME = regex.compile(r"(?<=\s)\p{Lu}\p{Ll}{1,20}+[ ]\Z")
_PART = re.compile(r"(?P<sign>^[-−–])?(?P<number>\d+(?:[.,'’:/]\d+)*)(?P<letter>[a-z](?!\w))?")
_FIRST_POINT = re.compile(r"(?<!\w)(?=[.,]\d)")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)")
_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{2,4})")
_BY_MARK = {
    ".": re.compile(r"(\d+|[1-9]\d{0,2}(?:[,'’]\d{3})+)(?:\.(\d+))?"),
    ",": re.compile(r"(\d+|[1-9]\d{0,2}(?:[.'’]\d{3})+)(?:,(\d+))?"),
}
"""Whole numbers and decimals, by the decimal mark; 0.006 has no groups of digits."""


class Number(NamedTuple):
    """A number in a text; groups of digits, and words for powers of ten, are part of it."""

    begin: int
    end: int
    end_of_digits: int
    """Where its words for powers of ten begin, if it has any."""
    written: str
    values: Sequence[str]


class Ordinals:
    """Reads the ordinal numbers of one language in digits: 21st; none if its profile lacks their endings."""

    def __init__(self, language: Language) -> None:
        """Build the pattern; CLDR knows which number has which ending."""
        self._endings, self._locale = language.ordinal_endings, locale(language.code)
        endings = any_of(set(self._endings.values()))
        self.pattern = re.compile(
            rf"(?<![\w.,])(?P<digits>\d{{1,4}})(?P<ending>(?:{endings})+)(?!\w)"
        )
        """Also several endings, of which one is behind a stand-in."""

    @property
    def are_known(self) -> bool:
        """Whether the language's endings are known."""
        return bool(self._endings)

    def written(self, digits: str) -> str:
        """Write an ordinal number."""
        return f"{digits}{self.ending(digits)}"

    def ending(self, digits: str) -> str:
        """Return the ending of a number."""
        category = self._locale.ordinal_form(int(digits)) if self._locale else "other"
        return self._endings.get(category) or self._endings["other"]


class Figures:
    """Reads the numbers of one language."""

    def __init__(self, language: Language) -> None:
        """Look up the decimal mark in CLDR; if it is unknown, both dots and commas may be decimal marks."""
        self.clock = Clock(language)
        self._capitalizes_nouns = language.capitalizes_nouns
        mark, group = _marks(language.code)
        self.marks = mark, group
        """The decimal mark and the mark between groups of digits, as in CLDR."""
        self._groups_by_blanks = group != "" and group in BLANKS
        self._arabic = str.maketrans("٫٬", ",." if mark == "," else ".,")
        self._patterns = [_BY_MARK[mark]] if mark in _BY_MARK else list(_BY_MARK.values())
        self.scales = Scales(language, self._number)
        self.months = months_of(language.code)
        self.ordinals = Ordinals(language)

    def in_digits(self, text: str, *, with_endings: bool = False) -> str:
        """Write 3 million as 3000000, and 3 000 000, too, if the language groups digits by spaces.

        `with_endings`: as in `Scales.find`.
        """
        if self._groups_by_blanks:
            text = _GROUPED.sub(lambda number: re.sub(rf"[{BLANKS}]", "", number[0]), text)
        parts, start = [], 0
        for amount in self.scales.find(text, with_endings=with_endings):
            parts += [text[start : amount.begin], f"{amount.value} "]
            start = amount.end
        return "".join([*parts, text[start:]])

    def read(self, text: str) -> "Read":
        """Return each number of a text as it is written, and its values independent of the language.

        A number is a word with digits, or several that are joined: 1.234,56 - AX-9920-77B/3 - 13b - 1990er. A
        date has three values. Digits of all scripts are converted to ASCII.
        """
        numbers: Read = []
        pieces, start = [], 0
        for time in self.clock.times(text):
            numbers.append((time.written, [time.value]))
            pieces.append(text[start : time.begin])
            start = time.end
        text = " ".join([*pieces, text[start:]])
        numbers += [self._read(text, *match.span()) for match in _FIGURES.finditer(text)]
        return numbers

    def numbers(self, text: str, *, scaled: bool = True) -> Iterator[Number]:
        """Yield the numbers of a text, in order; a time of day is not told apart from other numbers.

        With `scaled`, the value of 3 million is 3000000, otherwise 3.
        """
        groups = _GROUPED if self._groups_by_blanks else _UNNAMED
        grouped = dict(match.span() for match in groups.finditer(text))
        amounts = deque(self.scales.find(text))
        position = 0
        for match in _FIGURES.finditer(text):
            begin, end = match.span()
            if begin < position:
                continue
            if begin in grouped:
                end = _DECIMALS.match(text, grouped[begin]).end()  # type: ignore[union-attr]
                written = re.sub(rf"[{BLANKS}]", "", text[begin:end])
                values = [self._number(written)]
            else:
                written, values = self._read(text, begin, end)
            position = end
            while amounts and amounts[0].begin < begin:
                amounts.popleft()
            if amounts and amounts[0].begin < end:
                amount = amounts.popleft()
                position = amount.end
                if scaled:
                    values = [*self._read(text, begin, amount.begin)[1], amount.value]
                    written = f"{written} {amount.value}"
            yield Number(begin, position, end, written, values)

    def _read(self, text: str, begin: int, end: int) -> tuple[str, list[str]]:
        """Return a number as it is written, in ASCII, and its values."""
        figure = _DIGIT.sub(lambda digit: str(int(digit[0])), text[begin:end])
        figure = _FIRST_POINT.sub("0", figure.translate(self._arabic))
        is_code = _CODE.search(figure) or self._is_named(figure, text, begin)
        return figure, [f"{figure} exactly"] if is_code else list(self._values(figure))

    def _is_named(self, figure: str, text: str, start: int) -> bool:
        """Check whether a name precedes a number, so that it is not a decimal: Python 3.11."""
        if self._capitalizes_nouns or not _FRACTION.search(figure):
            return False
        return _NAME.search(text, max(0, start - 24), start) is not None

    def _values(self, figure: str) -> Iterator[str]:
        figure = _FRACTION_SIGN.sub(_in_digits, figure)
        yield from _BY.findall(figure)
        for match in _PART.finditer(figure):
            number, letter = match["number"], match["letter"] or ""
            if letter == "s" and number.endswith("0"):  # the 1990s
                letter = ""
            sign = "-" if match["sign"] else ""
            if date := _DATE.fullmatch(number):
                yield from map(_plain, date.group(1, 3, 4))
            elif clock := _CLOCK.fullmatch(number):
                yield f"{int(clock[1])}:{clock[2]}"
            elif ":" in number:
                yield from number.split(":")
            else:
                yield f"{sign}{self._number(number)}{letter}"

    def _number(self, number: str) -> str:
        for pattern in self._patterns:
            if match := pattern.fullmatch(number):
                whole_number = _plain(re.sub(r"\D", "", match[1]))
                return f"{whole_number}.{match[2]}" if match[2] else whole_number
        return number


figures_of = lru_cache(maxsize=256)(Figures)
"""Return the figures of a language; directions and rules share them."""


NOUN_COUNTS = (1, 2, 5, 1.5)
"""Numbers after which languages have different forms of a noun."""


def plus(number: Number) -> str:
    """Return the plus sign of a number, which its values lack; "" if it has none."""
    return "+" if number.written.startswith("+") else ""


def _in_digits(sign: re.Match[str]) -> str:
    """Write the sign for a fraction, which may follow a whole number, in digits: 1½ is 1 1/2."""
    return " " + normalize("NFKC", sign[0]).replace("\u2044", "/")


def _plain(digits: str) -> str:
    return str(int(digits)) if len(digits) < 3 else digits


def _marks(code: str) -> tuple[str, str]:
    """Return the decimal mark, and the mark between groups of digits."""
    known_locale = locale(code)
    symbols = known_locale.number_symbols.get("latn", {}) if known_locale else {}
    return str(symbols.get("decimal", "")), str(symbols.get("group", ""))


Read = list[tuple[str, list[str]]]
"""The numbers of a text: each as it is written, and its values."""


def are_same(source: Read, translation: Read) -> bool:
    """Check whether two texts have the same numbers, as they are written or by value."""
    return difference(source, translation) == (Counter(), Counter())


def difference(source: Read, translation: Read) -> tuple[Counter[str], Counter[str]]:
    """Return the values that only the source has, and those that only the translation has."""
    equal = Counter(written for written, _ in source) & Counter(
        written for written, _ in translation
    )
    first, second = _rest(source, equal), _rest(translation, equal)
    return first - second, second - first


def _rest(read: Read, equal: Counter[str]) -> Counter[str]:
    """Return the values of all numbers except `equal` ones."""
    equal = equal.copy()
    counts: Counter[str] = Counter()
    for written, values in read:
        if equal[written]:
            equal[written] -= 1
        else:
            counts.update(values)
    return counts

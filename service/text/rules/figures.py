"""Reads the numbers in a text, according to how its language writes decimals and times of day."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from service.text.languages import Language, locale
from service.text.rules.months import Months
from service.text.rules.scales import Scales
from service.text.words import TOUCHING

_LETTER = r"\p{Latin}\p{Greek}\p{Cyrillic}"
"""Letters of scripts with spaces between words, in which a word with a digit is not a whole sentence."""
BLANKS = " \u00a0\u202f"
"""Spaces within a line."""
_WORD = rf"[{_LETTER}]{{0,20}}+\p{{Nd}}[{_LETTER}\p{{Nd}}]*+"
"""A word with digits: 12, B2, 1990er."""
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
    (?<![\w.,]) (?:\+|0)\p{Nd}{1,5}+
    (?: [ \u00a0]\p{Nd}[\p{Nd}-]*+ )++
    (?! [\w.,:/]\p{Nd} )
"""
_FIGURES = regex.compile(rf"{_PHONE}|{_FIGURE}", regex.VERBOSE)
_FOLLOWING = rf"[{BLANKS}–] \p{{Nd}}[{_LETTER}\p{{Nd}}]*+ {_JOINED}"
NUMBER = regex.compile(rf"{_FIGURE} (?:{_FOLLOWING})*+", regex.VERBOSE)
"""A number that is protected as a whole, with groups of digits and ranges: DE89 3704 0044 - 9–17."""
_DIGIT = re.compile(r"\d")
_GROUPED = re.compile(rf"(?<![\d.,])\d{{1,3}}(?:[{BLANKS}]\d{{3}}(?!\d))++")
_DECIMALS = re.compile(r"(?:[.,]\d++)?")
_BY = re.compile(r"[x×](?=[ ]?\d)")
_FRACTION = re.compile(r"\d[.,]\d")
_CODE = regex.compile(r"\p{Lu}|\d[ \u00a0]\d|[a-z][.-]?\d|§")  # AX-9920, v2.0-rc.1, § 433
_NAME = regex.compile(r"(?<=\s)\p{Lu}\p{Ll}{1,20}+[ ]$")
_PART = re.compile(r"(?P<sign>^[-−–])?(?P<number>\d+(?:[.,'’:/]\d+)*)(?P<letter>[a-z](?!\w))?")
_FIRST_POINT = re.compile(r"(?<!\w)(?=[.,]\d)")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)")
_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{2,4})")
_BY_MARK = {
    ".": re.compile(r"(\d+|\d{1,3}(?:[,'’]\d{3})+)(?:\.(\d+))?"),
    ",": re.compile(r"(\d+|\d{1,3}(?:[.'’]\d{3})+)(?:,(\d+))?"),
}
"""Whole numbers and decimals, by the decimal mark."""


class Time(NamedTuple):
    """A time of day that a word or mark identifies: 2:30 pm, 17:48 Uhr, 午後2時30分."""

    begin: int
    end: int
    written: str
    """The 24-hour time, such as 14:30; the original text if it is invalid, or has a word but no minutes."""
    value: str
    """The 24-hour time, always with minutes (14:00), or the original text if it is invalid."""


class Number(NamedTuple):
    """A number in a text; groups of digits, and words for powers of ten, are part of it."""

    begin: int
    end: int
    end_of_digits: int
    """Where its words for powers of ten begin, if it has any."""
    written: str
    values: Sequence[str]


class Figures:
    """Reads the numbers of one language."""

    def __init__(self, language: Language) -> None:
        """Look up the decimal mark in CLDR; if it is unknown, both dots and commas may be decimal marks."""
        self._halves = dict.fromkeys(language.before_noon, 0) | dict.fromkeys(
            language.after_noon, 12
        )
        self.clock = bool(self._halves), language.clock_marks
        """How the language writes times of day, for comparison with another."""
        self._marked_time = _marked_time(language) if language.clock_marks else None
        self._capitalizes_nouns = language.capitalizes_nouns
        space, clock = rf"[{BLANKS}]?", r"(?<![\w.,:/])(\d{1,2})(?::(\d\d?))"
        halves = any_of(self._halves if self.has_halves else ())
        hours = any_of(language.hour_words)
        self._time = re.compile(
            rf"{clock}?{space}(?:(?:{hours}){space})?(?P<half>{halves})(?!\w)"
            rf"|{clock}{space}(?:{hours})(?!\w)",
            re.IGNORECASE,
        )
        self._half = re.compile(rf"{space}(?:{halves})(?!\w)", re.IGNORECASE)
        self._word_of_half = re.compile(rf"(?<!\w)(?:{halves})(?!\w)", re.IGNORECASE)
        self._after_noon = language.after_noon
        mark, group = _marks(language.code)
        self.marks = mark, group
        """The decimal mark and the mark between groups of digits, as in CLDR."""
        self._grouped = _grouped(mark, group) if {mark, group} == {".", ","} else None
        self._groups_by_blanks = group != "" and group in BLANKS
        self._arabic = str.maketrans("٫٬", ",." if mark == "," else ".,")
        self._patterns = [_BY_MARK[mark]] if mark in _BY_MARK else list(_BY_MARK.values())
        self.scales = Scales(language, self._number)
        self.months = Months(language.code)

    @property
    def has_halves(self) -> bool:
        """Whether the language uses the 12-hour clock, with a word after the hour."""
        return bool(self._halves) and self._marked_time is None

    def begins_with_half(self, text: str, position: int) -> bool:
        """Check whether a word for a half of the day begins at `position`."""
        return self._half.match(text, position) is not None

    def lone_halves(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of words such as "am" and "pm" if one is of the afternoon: "am" is also a verb."""
        matches = list(self._word_of_half.finditer(text))
        if not any(match[0].casefold() in self._after_noon for match in matches):
            return []
        return [match.span() for match in matches]

    def times(self, text: str) -> Iterator[Time]:
        """Yield the times of day that a word or mark identifies."""
        if self._marked_time:
            yield from self._marked_times(self._marked_time, text)
            return
        for match in self._time.finditer(text):
            hour, minute = int(match[1] or match[4]), match[2] or match[5]
            earliest, latest = (1, 12) if match["half"] else (0, 24)  # no clock says 0:48 am
            is_minute = minute is None or (len(minute) == 2 and int(minute) < 60)
            is_valid = is_minute and earliest <= hour <= latest
            if match["half"]:
                hour = hour % 12 + self._halves[match["half"].casefold()]
            value = f"{hour}:{minute or '00'}" if is_valid else match[0]
            yield Time(*match.span(), value if minute else match[0], value)

    def _marked_times(self, marked: re.Pattern[str], text: str) -> Iterator[Time]:
        for match in marked.finditer(text):
            half, hour = match["half"], int(match["hour"])
            minute = 30 if match["past"] else int(match["minute"] or match["digits"] or 0)
            is_time = half or match["past"] or match["minute"]  # 3時 may be part of 3時間
            if not is_time or hour > 24 or minute > 59:
                continue
            if half and hour <= 12:
                hour = hour % 12 + self._halves[half]
            value = f"{hour}:{minute:02}"
            yield Time(*match.span(), value, value)

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

    def grouped(self, text: str, other: "Figures") -> Iterator[tuple[int, int, str]]:
        """Yield the spans of numbers with groups of digits, and how another language writes them.

        German 1.500 is English 1,500. There are none unless the languages exchange dots and commas.
        """
        if self._grouped is None or other.marks != self.marks[::-1]:
            return
        exchanged = str.maketrans(".,", ",.")
        for number in self._grouped.finditer(text):
            yield *number.span(), number[0].translate(exchanged)

    def read(self, text: str) -> "Read":
        """Return each number of a text as it is written, and its values independent of the language.

        A number is a word with digits, or several that are joined: 1.234,56 - AX-9920-77B/3 - 13b - 1990er. A
        date has three values. Digits of all scripts are converted to ASCII.
        """
        numbers: Read = []
        pieces, start = [], 0
        for time in self.times(text):
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
        grouped = {match.start(): match.end() for match in _GROUPED.finditer(text)}
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


def _marked_time(language: Language) -> re.Pattern[str]:
    """Return a pattern for times with marks after the numbers, or after words such as "pm".

    Examples: 3時30分, 下午3点, 오후 3:30.
    """
    halves = any_of([*language.before_noon, *language.after_noon])
    hour, minute, past, duration = (f"[{marks}]" for marks in language.clock_marks)
    blank = f"[{BLANKS}]?"
    return re.compile(
        rf"(?:(?P<half>{halves}){blank}|(?<![^\W{TOUCHING}])(?<![.,:/]))(?P<hour>\d{{1,2}})"
        rf"(?:[:：](?P<digits>\d\d)(?![:：]?\d)|{hour}"
        rf"(?:{blank}(?P<minute>\d{{1,2}}){minute}|(?P<past>{past}))?(?!\d|{duration}))"
    )


def _grouped(mark: str, group: str) -> re.Pattern[str]:
    """Return a pattern for numbers with groups of digits: 1,234,567.89."""
    mark, group = re.escape(mark), re.escape(group)
    return re.compile(
        rf"(?<![\w.,:/-])\d{{1,3}}(?:{group}\d{{3}}){{1,4}}(?:{mark}\d+)?(?![.,:/-]?\w)"
    )


NOUN_COUNTS = (1, 2, 5, 1.5)
"""Numbers after which languages have different forms of a noun."""


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of these words, which matches nothing if there are none."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


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

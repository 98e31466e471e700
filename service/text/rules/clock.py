"""Reads the times of day in a text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from service.text.languages import Language
from service.text.words import BLANKS, TOUCHING, any_of

_MAX_RANGE = 30
"""Characters of the first time of a range and the word behind it."""


class Time(NamedTuple):
    """A time of day that a word or mark identifies: 2:30 pm, 17:48 Uhr, 午後2時30分."""

    begin: int
    end: int
    written: str
    """The 24-hour time, such as 14:30; the original text if it is invalid, or has a word but no minutes."""
    value: str
    """The 24-hour time, always with minutes (14:00), or the original text if it is invalid."""


class Clock:
    """Reads the times of day of one language."""

    def __init__(self, language: Language) -> None:
        """Build the patterns from the language's words and marks."""
        self._halves = dict.fromkeys(language.before_noon, 0) | dict.fromkeys(
            language.after_noon, 12
        )
        self.notation = bool(self._halves), language.clock_marks
        """How the language writes times of day, for comparison with another."""
        self._marked_time = _marked_time(language) if language.clock_marks else None
        space, hour = rf"[{BLANKS}]?", r"(?<![\w.,:/])(\d{1,2})"
        halves = any_of(self._halves if self.has_halves else ())
        hours = any_of(language.hour_words)
        self._time = re.compile(
            rf"{hour}(?:[:.](\d\d?))?{space}(?:(?:{hours}){space})?(?P<half>{halves})(?!\w)"
            rf"|{hour}:(\d\d?){space}(?:{hours})(?!\w)",
            re.IGNORECASE,
        )
        self._begins_range = re.compile(
            rf"{hour}[:.]([0-5]\d){space}(?:{any_of(language.range_words)}|[-–]){space}\Z",
            re.IGNORECASE,
        )
        """Up to its second time, which alone has a word for the half of the day."""
        self._half = re.compile(rf"{space}(?:{halves})(?!\w)", re.IGNORECASE)
        self._word_of_half = re.compile(rf"(?<!\w)(?:{halves})(?!\w)", re.IGNORECASE)
        self._after_noon = language.after_noon

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
            if match["half"] and minute and is_valid:
                yield from self._begin_of_range(text, match.start(), hour)
            value = f"{hour}:{minute or '00'}" if is_valid else match[0]
            yield Time(*match.span(), value if minute else match[0], value)

    def _begin_of_range(self, text: str, position: int, until: int) -> Iterator[Time]:
        """Yield the first time of a range, if it ends at `position`: 1:30 to 3:00 pm.

        `until` is the range's last hour, of 24; the first time is in the half of the day that ends with it.
        """
        match = self._begins_range.search(text, max(0, position - _MAX_RANGE), position)
        if match and 1 <= int(match[1]) <= 12:
            hour = int(match[1]) % 12 + until // 12 * 12
            value = f"{(hour + 12) % 24 if hour > until else hour}:{match[2]}"
            yield Time(match.start(1), match.end(2), value, value)

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

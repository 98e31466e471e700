"""Reads the times of day in a text, in digits and in words: 3:30 pm, half past three."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from service.text.languages import Language
from service.text.words import BLANKS, TOUCHING, any_of

_DIAL = re.compile(r"(?<![\w.,:])(\d{1,2})[:.]([0-5]\d)(?!\d|[.,:]\d)")
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


class TimeInWords(NamedTuple):
    """A time of day in words: half past three, halb vier Uhr."""

    begin: int
    end: int
    value: str
    """The time on a dial of twelve hours: 3:30."""
    is_certain: bool
    """Whether the words mean nothing else: five to seven may be a range."""


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
        self._hour_word = re.compile(rf"{space}(?:{hours})(?!\w)", re.IGNORECASE)
        self._after_noon = language.after_noon
        self._language = language

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

    @cached_property
    def _phrases(self) -> dict[str, tuple[int, bool]]:
        """The minutes from an hour, and whether that is clear, by the words in front of it in lower case."""
        kinds = (self._language.unclear_clock_words, False), (self._language.clock_words, True)
        return {
            words.lower(): (minutes, is_clear)
            for kind, is_clear in kinds
            for minutes, phrases in kind.items()
            for words in phrases
        }

    @cached_property
    def _hours(self) -> dict[str, int]:
        """The hours up to twelve, by their names."""
        names = enumerate(self._language.numerals[:12], 1)
        return {word: hour for hour, words in names for word in words}

    @cached_property
    def _in_words(self) -> re.Pattern[str]:
        blank, leads = f"[{BLANKS}]", any_of(self._language.clock_leads)
        words = any_of(self._phrases).replace(r"\ ", blank)
        return re.compile(
            rf"(?<!\w)(?:(?P<lead>{leads}){blank})?(?P<words>{words}){blank}"
            rf"(?P<hour>{any_of(self._hours)})(?!\w|-\w)"
            rf"(?:{blank}(?:{any_of(self._language.hour_words)})(?!\w))?"
            rf"(?={blank}(?P<next>\w++))?",
            re.IGNORECASE,
        )

    @cached_property
    def _end_of_words(self) -> re.Pattern[str]:
        """The last word of a phrase, and an hour: a pattern that begins with a set, which `re` finds fast."""
        ends = {words.split()[-1] for words in self._phrases}
        ends |= {end.capitalize() for end in ends}
        return re.compile(rf"(?:{any_of(ends)})[{BLANKS}](?:{any_of(self._hours)})(?!\w)")

    @property
    def has_words(self) -> bool:
        """Whether the language's times in words are known."""
        return bool(self._phrases)

    def may_hold_words(self, text: str) -> bool:
        """Check fast whether a text may have a time in words; most have none."""
        return self._end_of_words.search(text) is not None

    def in_words(self, text: str) -> Iterator[TimeInWords]:
        """Yield the times of day in words."""
        for match in self._in_words.finditer(text):
            minutes, is_clear = self._phrases[match["words"].lower()]
            value = _on_dial(60 * self._hours[match["hour"].lower()] + minutes)
            next_word = match["next"] or ""
            counts = self._language.capitalizes_nouns and next_word[:1].isupper()
            is_end = not next_word or next_word.lower() in self._language.starters
            is_certain = not counts and (is_clear or (match["lead"] is not None and is_end))
            yield TimeInWords(match.start("words"), match.end(), value, is_certain)

    def on_dial(self, text: str) -> Counter[str]:
        """Return how often a text has each time, in digits or in words that may mean it, on a dial."""
        digits = (60 * int(hour) + int(minute) for hour, minute in _DIAL.findall(text))
        return Counter([*map(_on_dial, digits), *(time.value for time in self.in_words(text))])

    def end_of_hour_word(self, text: str, position: int) -> int:
        """Return the end of a word such as Uhr behind `position`, or `position` if there is none."""
        match = self._hour_word.match(text, position)
        return match.end() if match else position

    def written_in_words(self, value: str) -> str:
        """Write a time on a dial in words; return it unchanged if the language has none for it."""
        hour, minute = map(int, value.split(":"))
        kinds = self._language.clock_words, self._language.unclear_clock_words
        fitting = [
            (minutes, phrases[0])
            for kind in kinds
            for minutes, phrases in kind.items()
            if minutes % 60 == minute
        ]
        if not fitting:
            return value
        minutes, words = min(fitting, key=lambda one: abs(one[0]))
        return f"{words} {self._language.numerals[(hour - (minutes > 0)) % 12][0]}"

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


def _on_dial(minute: int) -> str:
    """Write the minutes since midnight or noon as a time on a dial of twelve hours."""
    return f"{minute // 60 % 12 or 12}:{minute % 60:02}"


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

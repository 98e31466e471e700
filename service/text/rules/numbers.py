"""Numbers: those of a translation are those of its source, or it is done again with them protected."""

import re
from collections import Counter
from typing import ClassVar, Literal

import regex

from service.text.rules.rule import Rule
from service.text.run import Protected, Run

_DIGIT = re.compile(r"\d")
# of scripts that put blanks between words, so that a word with a digit is no whole sentence
_LETTER = r"\p{Latin}\p{Greek}\p{Cyrillic}"
_FIGURE = rf"[{_LETTER}]{{0,20}}+\p{{Nd}}[{_LETTER}\p{{Nd}}]*+"
_JOINED = rf"(?:[-./,:'’_+](?:{_FIGURE}|\p{{Lu}}{{1,8}}+(?![{_LETTER}])))*+"
# 1.234,56 - 17:48 - AX-9920-77B/3 - 0x80070057 - 13b, and groups of one: DE89 3704 0044 - +49 30 1234567
_NUMBER = regex.compile(
    rf"(?<![{_LETTER}\p{{Nd}}])[+#§]?+(?:\p{{Lu}}{{1,8}}+[-./])?{_FIGURE}{_JOINED}"
    rf"(?:[ \u00a0\u202f]\p{{Nd}}[{_LETTER}\p{{Nd}}]*+{_JOINED})*+"
)
_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_GROUP = re.compile(r"\d+(?:[.,'’]\d+)*")
_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{2,4})")


class Numbers(Rule):
    """Compares digits; how a language writes decimals, dates and times is left to the model."""

    name: ClassVar[str] = "numbers"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    is_default: ClassVar[bool] = True

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has the numbers of its source; one of a source without may have some."""
        text = source.unprotected()
        return _DIGIT.search(text) is None or numbers(text) == numbers(translation.unprotected())

    def protect(self, run: Run) -> Run:
        """The sentence with its numbers protected."""
        return run.protecting([Protected(*match.span()) for match in _NUMBER.finditer(run.text)])


def numbers(text: str) -> Counter[str]:
    """The numbers of a text, however a language writes them.

    Separators do not count; a time counts by its hour of twelve, a date by its parts, in any order.

    >>> numbers("31.12.2026, 1.234,56 €, 17:48") == numbers("1,234.56 on 12/31/2026 at 5:48 pm")
    True
    """
    found: Counter[str] = Counter()
    text = _TIME.sub(lambda time: f"{int(time[1]) % 12}:{time[2]}", text)
    text = _DATE.sub(r"\1/\2/\3", text)
    for match in _GROUP.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        found[str(int(digits)) if len(digits) < 3 else digits] += 1
    return found

"""Compares numbers in words with the translation; small models confuse 64 and 46."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Self

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import figures_of
from service.text.rules.rule import Rule, Setting
from service.text.run import Run
from service.text.words import any_of

_LEAST = 13
"""Smaller numbers are also pronouns, articles and parts of idioms, and models know them."""
_DIGITS = re.compile(r"\d{1,15}+")
_GROUPING = re.compile(r"(?<=\d)[.,'’ \u00a0\u202f](?=\d{3}(?!\d))")
_YEARS = range(11, 21)
"""First halves of years: nineteen eighty-four."""
_LEAST_GROUPED = 10_000
"""Smaller numbers may be years, whose digits are never grouped."""
_ROUND = {100, 1_000}
"""Numbers that idioms use: thanks a thousand."""


class Numeral(NamedTuple):
    """A number in words."""

    begin: int
    end: int
    value: int


class Numerals:
    """Finds the numbers in words of one language, from 13 to 999,999; none if its profile has no words."""

    def __init__(self, language: Language) -> None:
        """Build the pattern."""
        self._values = {
            word.lower(): value
            for value, words in enumerate(language.numerals, 1)
            for word in words
        }
        self.are_known = bool(self._values)
        self._capitalizes_nouns = language.capitalizes_nouns
        words = {language.hundred, language.thousand, *self._values} - {""}
        large = [word for word in words if self._values.get(word, _LEAST) >= _LEAST]
        self._parts = [
            word for word in large if not any(part in word for part in large if part != word)
        ]
        self._units = any_of(word for word, value in self._values.items() if value < 10)
        small = any_of(self._values).replace(r"\-", "[- ]")
        link = f"(?:{any_of(language.numeral_links)})"
        hundred, thousand = re.escape(language.hundred), re.escape(language.thousand)

        def below_thousand(name: str) -> str:
            return (
                rf"(?:(?:(?P<{name}_hundreds>{small}){link})?(?P<{name}_hundred>{hundred})"
                rf"(?:{link}(?P<{name}_rest>{small}))?|(?P<{name}>{small}))"
            )

        self._number = re.compile(
            rf"(?<![\w-])(?:(?:{below_thousand('thousands')}{link})?(?P<thousand>{thousand})"
            rf"(?:{link}{below_thousand('behind')})?|{below_thousand('all')})(?!\w|-\w)",
            re.IGNORECASE,
        )

    def find(self, text: str) -> list[Numeral]:
        """Return the numbers in words, in order.

        Adjacent ones are a year, if they can be (nineteen eighty-four), otherwise none.
        """
        lower = text.lower()
        if not any(part in lower for part in self._parts):  # a fast check
            return []
        groups: list[list[Numeral]] = []
        for match in self._number.finditer(text):
            numeral = Numeral(*match.span(), self._value(match))
            before = groups[-1][-1] if groups else None
            if before and _belong(text, before, numeral):
                groups[-1].append(numeral)
            else:
                groups.append([numeral])
        return [
            numeral
            for group in groups
            for numeral in _joined(group)
            if _LEAST <= numeral.value not in _ROUND and not self._is_noun(text, numeral.begin)
        ]

    def _is_noun(self, text: str, begin: int) -> bool:
        """Check for a capital within a sentence: Anfang Dreißig."""
        return self._capitalizes_nouns and text[begin].isupper() and text[:begin].strip() != ""

    def has_word_with(self, value: int, text: str) -> bool:
        """Check for a word that begins with a number below 100: twenties, siebzehnjährig, zwanzigste."""
        words = [re.escape(word[:-1]) for word, known in self._values.items() if known == value]
        if not words or value < _LEAST:
            return False
        begins = rf"(?<!\w)(?:{'|'.join(words)})\w*+(?!-(?:{self._units})(?!\w))"
        return re.search(begins, text, re.IGNORECASE) is not None

    def _value(self, match: re.Match[str]) -> int:
        def value(name: str) -> int:
            return self._values.get((match[name] or "").lower().replace(" ", "-"), 0)

        def below_thousand(name: str) -> int:
            hundreds = (value(f"{name}_hundreds") or 1) if match[f"{name}_hundred"] else 0
            return 100 * hundreds + value(f"{name}_rest") + value(name)

        if not match["thousand"]:
            return below_thousand("all")
        return 1_000 * (below_thousand("thousands") or 1) + below_thousand("behind")


def _belong(text: str, first: Numeral, second: Numeral) -> bool:
    """Check whether two numbers may be parts of one: nineteen eighty-four, ten thousand, two hundred."""
    between = text[first.end : second.begin]
    return between in (" ", "-") or (between == ", " and first.value % 1_000 == 0)


def _joined(group: list[Numeral]) -> Iterator[Numeral]:
    if len(group) == 1:
        yield from group
    elif len(group) == 2 and group[0].value in _YEARS and 10 <= group[1].value <= 99:
        yield Numeral(group[0].begin, group[1].end, 100 * group[0].value + group[1].value)


class NumberWords(Rule):
    """Demands that numbers in words are in the translation, as words or digits."""

    name = "number_words"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages. If the words of one are unknown, nothing is demanded."""
        self._source, self._target = numerals_of(source), numerals_of(target)
        self._figures = figures_of(target)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has the numbers that its source has in words."""
        if not self._target.are_known:
            return True
        wanted = Counter(numeral.value for numeral in self._source.find(source.unprotected()))
        if not wanted:
            return True
        text = translation.text
        found = Counter(numeral.value for numeral in self._target.find(text))
        for digits in (text, self._figures.in_digits(_GROUPING.sub("", text))):
            found |= Counter(map(int, _DIGITS.findall(digits)))
        return all(self._target.has_word_with(value, text) for value in wanted - found)

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the numbers in words; they become digits."""
        if not self._target.are_known:
            return run
        return run.protecting(
            (begin, end, self._in_digits(value))
            for begin, end, value in self._source.find(run.text)
        )

    def _in_digits(self, value: int) -> str:
        _, group = self._figures.marks
        return str(value) if value < _LEAST_GROUPED else f"{value:,}".replace(",", group)


@lru_cache(64)
def numerals_of(language: Language) -> Numerals:
    """Return the numbers in words of a language; building the pattern takes milliseconds."""
    return Numerals(language)

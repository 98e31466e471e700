"""Compares the names of units after numbers: models write 8 Zentimeter for 8 inches."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Self

import regex

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import FRACTIONS, Number, figures_of, plus
from service.text.rules.rule import Rule, Setting
from service.text.rules.unit_names import IDIOMS, names_of_units
from service.text.run import Run, Stretch
from service.text.words import BLANKS, TOUCHING, any_of

_DIGIT = re.compile(rf"[\d{FRACTIONS}]")
_ALL_BUT_DIGITS = re.compile(r"\D++")
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_LONG_WHOLE_NUMBER = re.compile(r"(?<![.,\d])\d{4}")
"""Digits that are not grouped."""
_ONE, _SEVERAL = Decimal(1), Decimal(5)
"""Determine the form of a name after a fraction, and after something else than a number, such as 30 x 40."""
_WITH_OTHER_MEANINGS = frozenset({"angle-degree", "length-foot", "length-yard", "mass-pound"})
"""Units whose names mean something else in many languages: money, books, a part of the body."""
_LEAST = 5
"""Letters of a name that may have an ending which CLDR lacks: Metern, but not Zollamt."""


class Amount(NamedTuple):
    """A number with the name of a unit."""

    number: Number
    end: int
    unit: str
    """The unit, as CLDR calls it."""


class UnitReader:
    """Finds the names of units in texts of one language; none if CLDR lacks it."""

    def __init__(self, language: Language) -> None:
        """Build the patterns."""
        self.names = names_of_units(language.code)
        self.figures = figures_of(language)
        words = self.names.words
        exact, long = any_of(words), any_of(word for word in words if len(word) >= _LEAST)
        end = rf"(?:(?<=[{TOUCHING}])|(?!\w))"
        self._name = regex.compile(
            rf"[{BLANKS}-]?+(?:(?P<name>{exact}){end}|(?P<name>{long})[^\W\d_]{{1,3}}+(?!\w))",
            regex.IGNORECASE,
        )
        # most sentences with numbers have no units, and this takes a tenth of the time
        scale = r"[^\W\d_]{1,15}+\.?" if language.separates_words else r"[^\W\d_]{1,4}?"
        self._may_hold_one = re.compile(
            rf"[\d{FRACTIONS}](?:[{BLANKS}]?{scale})?[{BLANKS}-]?(?:{exact})", re.IGNORECASE
        )
        self._anywhere = regex.compile(
            rf"(?<![^\W\d_{TOUCHING}])(?P<name>{exact})(?:(?<=[{TOUCHING}])|(?!\w{{5}}))",
            regex.IGNORECASE,
        )
        self._sign = regex.compile(
            rf"(?<=[\p{{Nd}}{FRACTIONS}])[{BLANKS}-]?+(?P<name>{any_of(self.names.signs)})(?!\w)"
        )

    def amounts(self, text: str) -> Iterator[Amount]:
        """Yield the numbers that are followed by the name of a unit."""
        if not self._may_hold_one.search(text):
            return
        for number in self.figures.numbers(text):
            if match := self._name.match(text, number.end):
                yield Amount(number, match.end(), self.names.words.get(match["name"].lower(), ""))

    def units(self, text: str) -> set[str]:
        """Return the units that a text names anywhere, or has the sign of after a number.

        Kilometres per hour are also kilometres, and degrees Celsius are also degrees.
        """
        names = [match["name"].lower() for match in self._anywhere.finditer(text)]
        found = {part for name in names for part in _parts(name, self.names.words)}
        signs = [match["name"] for match in self._sign.finditer(text)]
        return found.union(part for sign in signs for part in _parts(sign, self.names.signs))

    def written(self, text: str, number: Number, unit: str) -> str:
        """Write a number in a text of another language with the name of a unit; its digits stay the same."""
        digits, rest = (
            text[begin:end]
            for begin, end in pairwise((number.begin, number.end_of_digits, number.end))
        )
        if number.values[0].count("/") == len(number.values) == 1:  # ½ inch
            return self.names.written(f"{digits}{rest}", _ONE, unit)
        if len(number.values) != 1 or not _PLAIN.fullmatch(number.values[0]):
            return self.names.written(f"{digits}{rest}", _SEVERAL, unit)
        value, sign = Decimal(number.values[0]), plus(number)
        if rest:
            scaled = self.figures.scales.written(number.values[0])
            written = f"{sign}{scaled}" if scaled else f"{digits}{rest}"
            return self.names.written(written, value, unit)
        plain = f"{value:f}" if _LONG_WHOLE_NUMBER.search(digits) else f"{value:,f}"
        mark, group = self.figures.marks
        written = f"{sign}{plain.translate({ord('.'): mark, ord(','): group})}"
        is_same = _ALL_BUT_DIGITS.sub("", plain) == _ALL_BUT_DIGITS.sub("", number.written)
        if not is_same or digits.startswith("#"):  # 007
            written = digits
        return self.names.written(written, value, unit)


def _parts(name: str, units: dict[str, str]) -> Iterator[str]:
    """Yield the units of a name, and of the names with which it begins."""
    for at, one in enumerate(name, start=1):
        if at == len(name) or not (one.isalnum() and name[at].isalnum()):
            yield from filter(None, [units.get(name[:at])])


def _stretch(run: Run, amount: Amount, written: str) -> Stretch:
    """Return what to protect of an amount: only the name of its unit if its number is protected already."""
    begin, end = amount.number.begin, amount.number.end
    if run.is_protected(end - 1) and written.startswith(run.text[begin:end]):
        return end, amount.end, written[end - begin :]
    return begin, amount.end, written


@lru_cache(maxsize=256)
def reader_of(language: Language) -> UnitReader:
    """Return the names of a language; looking them up takes tens of milliseconds."""
    return UnitReader(language)


class UnitWords(Rule):
    """Demands that the name of a unit after a number is translated by a name or sign of the same unit.

    A unit whose name has other meanings must only not become another unit.
    """

    name = "unit_words"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages. If CLDR lacks one, nothing is demanded."""
        self._source, self._target = source, target

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has the units of its source."""
        wanted = self._amounts(source)
        if not wanted:
            return True
        found = reader_of(self._target).units(translation.text)
        new = found - reader_of(self._source).units(source.text)
        return all(
            not found.isdisjoint((amount.unit, IDIOMS.get(amount.unit)))
            or (not new and amount.unit in _WITH_OTHER_MEANINGS)
            for amount in wanted
        )

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the numbers with their units, as the target language writes them.

        Also those that came through: a second attempt might lose them. What is no unit stays as it is.
        """
        amounts = self._amounts(run)
        if amounts and self.came_through(run, translation):
            amounts = [one for one in amounts if one.unit not in _WITH_OTHER_MEANINGS]
        target = reader_of(self._target)
        return run.protecting(
            _stretch(run, amount, target.written(run.text, amount.number, amount.unit))
            for amount in amounts
        )

    def _amounts(self, run: Run) -> list[Amount]:
        """Return the amounts with units that the target language has, too."""
        text = run.text
        if _DIGIT.search(text) is None:
            return []
        known = reader_of(self._target).names.units
        return [
            amount
            for amount in reader_of(self._source).amounts(text)
            if amount.unit in known and not run.is_protected(amount.end - 1)
        ]

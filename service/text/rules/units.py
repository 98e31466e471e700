"""Preserves the symbols of units after numbers: models write 200 G for 200 g, and 100 mile for 100 m."""

import re
from collections import Counter
from typing import Self

import regex

from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import BLANKS, NUMBER
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_PREFIX = "(?:da|[fpnµμmcdhkMGTP]|[KMGT]i)?"
_WITH_PREFIX = "g|l|L|m|A|B|bit|J|N|Pa|V|VA|W|Wh|Hz|cal|eV"
_SYMBOL = rf"(?:{_PREFIX}(?:{_WITH_PREFIX})|K[Bb]|ha|t|bar|dB|h|min|[fpnµμm]?s)[²³]?"
_UNIT = regex.compile(  # words for units of time differ between languages, unless they are divisors
    rf"(?<=\p{{Nd}})[{BLANKS}](?!(?:h|min|s)\b)(?<symbol>{_SYMBOL}(?:/{_SYMBOL})?)(?!\w|/\p{{L}}|-)"
)

_MAY_HOLD_ONE = re.compile(rf"\d[{BLANKS}]")
"""A fast check: most sentences have no such number."""


class Units(Rule):
    """Demands that the symbols of metric units are preserved, between languages in Latin script.

    Other languages have their own: 5 км. Without a space, a symbol is part of the number.
    """

    name = "units"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages."""
        self._is_active = source.script == target.script == "Latn"

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each symbol after a number as often as its source."""
        if not self._is_active or _MAY_HOLD_ONE.search(source.text) is None:
            return True
        return _symbols(source) <= _symbols(translation)

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the symbols together with their numbers."""
        if not self._is_active:
            return run
        return run.protecting(
            (number.start(), unit.end())
            for number in NUMBER.finditer(run.text)
            if (unit := _UNIT.match(run.text, number.end()))
        )


def _symbols(run: Run) -> Counter[str]:
    return Counter(match["symbol"] for match in _UNIT.finditer(run.text))

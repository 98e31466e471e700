"""Preserves the symbols of units after numbers: models write 200 G for 200 g, and 100 mile for 100 m.

They lose signs of inches and feet (24", 6'), or make quotation marks of them.
"""

from collections import Counter

import regex

from service.text.languages import NEUTRAL, Language
from service.text.rules.converting import ConvertingRule
from service.text.rules.figures import FRACTIONS, NUMBER
from service.text.rules.primes import is_sign, signs_of
from service.text.rules.unit_names import spelled_out
from service.text.run import Run
from service.text.words import BLANKS

_SMALL, _LARGE = "[nµμmcdhk]", "(?:[MGTP]|[KMGT]i)"
_OF_ANY_SIZE = "bit|J|Pa|W|Wh|Hz|cal|eV"
_SYMBOL = (
    rf"(?:{_SMALL}?(?:g|l|L|m|N|V|VA|{_OF_ANY_SIZE})|{_LARGE}(?:B|{_OF_ANY_SIZE})|{_SMALL}[AB]"
    rf"|K[Bb]|t|dB|h|min|[nµμm]?s|°[CF]|gal|oz|lbs?|qt|ft|yd|mph|in(?=\.)"
    rf"|pp[mb]|rpm|psi|dpi|fps)[²³]?"
)
"""Not those that are also words: dag, dal, pm, bar, ha, mi, in, TV, TL, and A at the beginning of a title."""
_IS_NO_TIME = (
    r"(?!(?:h|min|s)\b)"  # between languages, units of time differ, unless they are divisors
)
_QUOTIENT = rf"(?<symbol>{_SYMBOL}(?:/{_SYMBOL})?)(?!\w|/\p{{L}})"
_UNIT = regex.compile(
    rf"(?<=[\p{{Nd}}{FRACTIONS}])(?:[{BLANKS}]|(?=\p{{L}}{{2}})){_IS_NO_TIME}{_QUOTIENT}"
    r"(?![-'’])"  # not 2014 l'Italia
)
_WRITTEN = regex.compile(rf"(?<=[\p{{Nd}}{FRACTIONS}])[{BLANKS}-]?+{_IS_NO_TIME}{_QUOTIENT}")
"""A symbol in a translation, which may have an ending or be part of a compound: 5 km-re, 25-mm-Kanone."""

_ALONE = regex.compile(rf"[^\w\ufffc]*+{_QUOTIENT}[^\w\ufffc]*+")
"""A text that is nothing but a symbol, as in the cells of a table: kg, (km/h)."""
_LONGEST_ALONE = 16
_MAY_HOLD_ONE = regex.compile(rf"[\p{{Nd}}{FRACTIONS}][{BLANKS}\p{{L}}]|\P{{nt=None}}[\"'″′]")
"""A fast check: most sentences have no such number, nor a mark behind a digit or a numeral such as ½."""


class Units(ConvertingRule):
    """Demands that the symbols of units are preserved, between languages in Latin script.

    Other languages have their own: 5 км. Without a space, a symbol of one character is part of the number,
    except for those of inches, feet and minutes.
    """

    name = "units"
    scope = "sentence"
    is_default = True

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages."""
        super().__init__(source, target)
        self._is_active = source.script == target.script == "Latn"
        self._target = target.code

    def leaves(self, sentence: Run) -> bool:
        """Check for a symbol without a number, which a model reads as an abbreviated word: kg, (km/h)."""
        is_short = len(sentence.text) <= _LONGEST_ALONE
        return self._is_active and is_short and _ALONE.fullmatch(sentence.text) is not None

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each symbol, or the unit's name, as often after a number."""
        if not self._is_active or _MAY_HOLD_ONE.search(source.text) is None:
            return True
        found = _symbols(_UNIT, source) + Counter(source.text[at] for at in signs_of(source))
        if not found:
            return True
        text = translation.text
        written = _symbols(_WRITTEN, translation)
        written += Counter(text[at] for at in range(1, len(text)) if is_sign(text, at))
        missing = found - written
        return all(
            count <= len(spelled_out(symbol, self._target).findall(translation.text))
            for symbol, count in missing.items()
        )

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the symbols together with their numbers, which are written as the target language does."""
        if not self._is_active:
            return run
        signs, stretches = set(signs_of(run)), []
        for number in NUMBER.finditer(run.text):
            if unit := _UNIT.match(run.text, number.end()):
                stretches.append((number.start(), unit.end()))
            elif number.end() in signs:
                stretches.append((number.start(), number.end() + 1))
        return run.protecting(self._notation.stretch(run.text, *stretch) for stretch in stretches)


def _symbols(pattern: regex.Pattern[str], run: Run) -> Counter[str]:
    return Counter(match["symbol"] for match in pattern.finditer(run.text))

"""Preserves signs of mathematics and currencies, and some between words: Settings > Privacy, x ≤ 5, 20 €.

Models omit one of several signs, or write another one instead.
"""

import re
from collections import Counter
from collections.abc import Iterator

from service.text.rules.rule import Rule
from service.text.run import Run

_CURRENCIES, _ALONE = r"$\xa2-\xa5\u20a0-\u20cf", "<>=+|›»·"
# begins with one set, which `re` finds fast
_SIGN = rf"[{_CURRENCIES}{_ALONE}±×÷\u2200-\u22ff](?:(?<![{_ALONE}])|(?<=\s.)(?=\s))"
_OPERATOR, _CURRENCY = re.compile(_SIGN), re.compile(f"[{_CURRENCIES}]")
_BLANKS, _GROUPED = r"[ \u00a0\u202f]*+", r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3}(?!\d)){1,4}+"
_FIGURE = rf"(?<![\w.,])[.,]?+(?:{_GROUPED}|\d++)(?:[.,]\d++)*+"
_AND_SIGN = rf"{_BLANKS}(?:{_FIGURE}{_BLANKS})?{_SIGN}"
_TERM = re.compile(rf"(?:{_FIGURE}{_BLANKS})?{_SIGN}(?:{_AND_SIGN})*+(?:{_BLANKS}{_FIGURE})?")
"""Operators with the numbers beside them, which are protected as one."""
_AMOUNT = re.compile(  # 20 €, 3 Mio. €, € 1.250
    rf"(?:(?P<before>{_FIGURE}(?:[-–]\d++)?){_BLANKS}(?:[^\W\d_]{{1,12}}+\.?{_BLANKS})?)?"
    rf"(?P<sign>[{_CURRENCIES}])(?={_BLANKS}(?P<behind>{_FIGURE}(?:[-–]\d++)?)?)"
)
_QUOTE = re.compile("[«‹]")
"""If a text has one of these, » and › may close quotations: « Oui »."""
_COMMON = frozenset("<>=+|›»·−")
"""Signs that may be more frequent in the translation, because they also occur within words."""
_MINUS = str.maketrans("-–", "−−")
"""Hyphens and dashes are accepted as minus signs."""


class Operators(Rule):
    """Demands that a translation has as many of these signs as its source."""

    name = "operators"
    scope = "sentence"
    is_default = True
    is_of_signs = True

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each sign as often as its source, or more often if it is common.

        The sign of a currency must be beside the same number.
        """
        signs = Counter(match[0] for match in _found(_OPERATOR, source.text))
        if not signs:
            return True
        has = Counter(translation.text.translate(_MINUS))
        are_there = all(
            has[one] == count or (has[one] > count and one in _COMMON)
            for one, count in signs.items()
        )
        return are_there and _amounts(source.text, 1) <= _amounts(translation.text, 2)

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the signs, each with the numbers beside it; amounts only if the translation lost a sign.

        Otherwise, the model can write the sign where the target language has it.
        """
        keeps_amounts = self.came_through(run, translation)
        return run.protecting(
            match.span()
            for match in _found(_TERM, run.text)
            if not (keeps_amounts and _CURRENCY.search(match[0]))
        )


def _found(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    has_quotes = _QUOTE.search(text) is not None
    return (one for one in pattern.finditer(text) if not (has_quotes and one[0] in "›»"))


def _amounts(text: str, most: int) -> Counter[tuple[str, str]]:
    """Count pairs of a currency's sign and the number beside it, for signs beside at most `most` numbers.

    Zeros at the ends of a number are ignored: 5,00 is 5, .05 is 0,05, and 50 thousand is 50,000.
    """
    found: Counter[tuple[str, str]] = Counter()
    for match in _AMOUNT.finditer(text):
        numbers = [number for number in match.group("before", "behind") if number]
        if len(numbers) <= most:
            found.update((match["sign"], _significant(number)) for number in numbers)
    return found


def _significant(number: str) -> str:
    return "".join(str(int(one)) for one in number if one.isdecimal()).strip("0")

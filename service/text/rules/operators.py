"""Preserves signs of mathematics, and some between words: x ≤ 5, 3 · 4 = 12, Settings > Privacy.

Models omit one of several signs, or write another one instead.
"""

import re
from collections import Counter
from collections.abc import Iterator

from service.text.rules.figures import NUMBER
from service.text.rules.rule import Rule
from service.text.run import Run
from service.text.words import BLANKS

_BETWEEN_SPACES = "<>=+|›»·"
"""Signs that are operators only between spaces; within words, they have other meanings."""
_ANYWHERE = "±×÷\u2200-\u22ff"
_SIGN = re.compile(  # begins with one set, which `re` finds fast
    rf"[{_BETWEEN_SPACES}{_ANYWHERE}](?:(?<![{_BETWEEN_SPACES}])|(?<=\s.)(?=\s))"
)
_QUOTE = re.compile("[«‹]")
"""If a text has one of these, » and › may close quotations: « Oui »."""
_MAY_BE_MORE = frozenset(f"{_BETWEEN_SPACES}−")
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
        """Check that a translation has each sign as often as its source; some may be more frequent."""
        signs = Counter(match[0] for match in _signs(source.text))
        if not signs:
            return True
        counts = Counter(translation.text.translate(_MINUS))
        return all(
            counts[sign] == count or (counts[sign] > count and sign in _MAY_BE_MORE)
            for sign, count in signs.items()
        )

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect the signs, each with the numbers beside it."""
        return run.protecting(_terms(run.text))


def _signs(text: str) -> Iterator[re.Match[str]]:
    has_quotes = _QUOTE.search(text) is not None
    return (match for match in _SIGN.finditer(text) if not (has_quotes and match[0] in "›»"))


def _terms(text: str) -> list[tuple[int, int]]:
    """Return the stretches of signs and the numbers beside them, such as 3 · 4 = 12."""
    signs = [(*match.span(), True) for match in _signs(text)]
    if not signs:
        return []
    numbers = [(*match.span(), False) for match in NUMBER.finditer(text)]
    terms: list[tuple[int, int, bool]] = []
    for begin, end, is_sign in sorted(signs + numbers):
        if terms and text[terms[-1][1] : begin].strip(BLANKS) == "":
            first, last, has_sign = terms.pop()
            begin, end, is_sign = first, max(last, end), has_sign or is_sign
        terms.append((begin, end, is_sign))
    return [(begin, end) for begin, end, has_sign in terms if has_sign]

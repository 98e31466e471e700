"""Preserves the numerals and letters of enumerations within a sentence: (i) the price, (ii) the taxes.

Models confuse them with one another. Those at the beginning of a line are markers of a list; see `segmenter`.
"""

import re
from collections import Counter

from service.text.rules.rule import Rule
from service.text.run import Run
from service.text.words import ROMAN

_ENUMERATOR = re.compile(rf"(?<![\w(.])(?:\((?:{ROMAN}|[a-eA-E])|{ROMAN})\)(?!\w)")
"""A numeral or letter in parentheses, or a numeral before a closing one.

Of letters, only the first ones: (f) and (m) are also genders.
"""


class Enumerators(Rule):
    """Demands that a translation has each of them."""

    name = "enumerators"
    scope = "sentence"
    is_default = True
    is_of_signs = True

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that none is missing."""
        return _counted(source.text) <= _counted(translation.text)

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect all of them, because those that came through may be in each other's places."""
        return run.protecting(match.span() for match in _ENUMERATOR.finditer(run.text))


def _counted(text: str) -> Counter[str]:
    return Counter(_ENUMERATOR.findall(text))

"""Signs that stand by themselves between words, as in Settings > Privacy: models leave one of several out."""

import re
from collections import Counter
from collections.abc import Iterator

from service.text.rules.rule import Rule
from service.text.run import Run

_OPERATOR = re.compile(r"[<>=+|›»](?<=\s.)(?=\s)")  # begins with a set, which `re` finds fast
_QUOTE = re.compile("[«‹]")
"""Where there is one, the others may close quotations: « Oui »."""


class Operators(Rule):
    """Demands that each comes through as often as it stands there."""

    name = "operators"
    scope = "sentence"
    is_default = True
    is_of_signs = True

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has each of them as often as its source, or more often."""
        signs = Counter(match[0] for match in _operators(source.text))
        return not signs or signs <= Counter(translation.text)

    def protect(self, run: Run, translation: Run) -> Run:  # noqa: ARG002 - whatever it is
        """The sentence with them protected."""
        return run.protecting(match.span() for match in _operators(run.text))


def _operators(text: str) -> Iterator[re.Match[str]]:
    has_quotes = _QUOTE.search(text) is not None
    return (one for one in _OPERATOR.finditer(text) if not (has_quotes and one[0] in "›»"))

"""Signs that stand by themselves between words, as in Settings > Privacy: models leave one of several out."""

import re
from collections import Counter
from typing import ClassVar, Literal

from service.text.rules.rule import Rule
from service.text.run import Protected, Run

_OPERATOR = re.compile(r"[<>=+](?<=\s.)(?=\s)")  # begins with a set, which `re` finds fast


class Operators(Rule):
    """Demands that each comes through as often as it stands there."""

    name: ClassVar[str] = "operators"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    is_default: ClassVar[bool] = True
    is_of_signs: ClassVar[bool] = True

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has each of them as often as its source, or more often."""
        signs = _OPERATOR.findall(source.text)
        return not signs or Counter(signs) <= Counter(translation.text)

    def protect(self, run: Run) -> Run:
        """The sentence with them protected."""
        return run.protecting(Protected(*match.span()) for match in _OPERATOR.finditer(run.text))

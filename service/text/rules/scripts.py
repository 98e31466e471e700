"""Words in scripts that a model cannot write: they come through untouched, as placeholders do."""

import re
from collections.abc import Callable
from typing import ClassVar, Self

from service.text.rules.rule import Rule, Setting
from service.text.run import Protected, Run

# letters and what goes with them, Latin ones apart: from Greek on, and from Glagolitic on
_LETTERS = (
    "\u0370-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u3001-\ua71f\ua800-\uab2f\uab70-\ud7ff"
    "\uf900-\ufaff\ufb13-\ufeff\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff"
)
_WORDS = re.compile(f"[{_LETTERS}]+(?:[ \t\u00a0]+[{_LETTERS}]+)*")


class Scripts(Rule):
    """Protects words of another script that have a letter which a vocabulary cannot write."""

    name: ClassVar[str] = "scripts"
    is_default: ClassVar[bool] = True

    def __init__(self, spells: Callable[[str], bool]) -> None:
        """`spells` says whether the vocabulary has a letter."""
        self._spells = spells

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the vocabulary of the source."""
        return cls(setting.tokenizers.source.spells)

    def prepare(self, run: Run) -> Run:
        """The run with such words protected."""
        return run.protecting(
            [
                Protected(*match.span())
                for match in _WORDS.finditer(run.text)
                if any(one.isalpha() and not self._spells(one) for one in set(match.group()))
            ]
        )

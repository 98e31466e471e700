"""Words in scripts that a model cannot write: they come through untouched, as placeholders do."""

from collections.abc import Callable
from typing import ClassVar, Self

import regex

from service.text.rules.rule import Rule, Setting
from service.text.run import Protected, Run

# what belongs to a few scripts and not to Latin, punctuation and figures too; ASCII is first, which is faster
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


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

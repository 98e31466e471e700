"""Words in scripts that a model cannot write: they come through untouched, as placeholders do."""

from typing import ClassVar

import regex

from service.text.rules.rule import SpellingRule
from service.text.run import Protected, Run

# what belongs to a few scripts and not to Latin, punctuation and figures too; ASCII is first, which is faster
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


class Scripts(SpellingRule):
    """Protects words of another script that have a letter which a vocabulary cannot write."""

    name: ClassVar[str] = "scripts"
    is_default: ClassVar[bool] = True

    def prepare(self, run: Run) -> Run:
        """The run with such words protected."""
        return run.protecting(
            [
                Protected(*match.span())
                for match in _WORDS.finditer(run.text)
                if any(one.isalpha() and not self._spells(one) for one in set(match.group()))
            ]
        )

"""Words in scripts that a model cannot write are protected, as placeholders are."""

import re
from typing import ClassVar

import regex

from service.text.rules.rule import SpellingRule
from service.text.run import Protected, Run

# what belongs to a few scripts and not to Latin, punctuation and figures too; ASCII is first, which is faster
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_MAY_HOLD_ONE = re.compile("[^\x00-\u02a9\u2010-\u2027]")
"""A quick look: letters of Latin, and the dashes and quotes that stand between them, are in no word."""
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


class Scripts(SpellingRule):
    """Protects words of another script that have a letter which a vocabulary cannot write."""

    name: ClassVar[str] = "scripts"
    is_default: ClassVar[bool] = True
    is_of_signs: ClassVar[bool] = True

    def prepare(self, run: Run) -> Run:
        """The run with such words protected."""
        if run.text.isascii() or _MAY_HOLD_ONE.search(run.text) is None:
            return run
        return run.protecting(
            [
                Protected(*match.span())
                for match in _WORDS.finditer(run.text)
                if any(one.isalpha() and not self._spells(one) for one in set(match.group()))
            ]
        )

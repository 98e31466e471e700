"""Leaves sentences untranslated that are certainly in the target language already."""

import re
from typing import Self

import regex

from service.text.certainty import Certainty
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_NAME = regex.compile(r"(?<=\w )\p{Lu}\p{L}++(?!['’])")
"""A capitalized word within a sentence: names are often words of another language."""
_MAY_HOLD_ONE = re.compile("\\w [A-Z\x80-\U0010ffff]")
"""A fast check that rejects most sentences."""


class Already(Rule):
    """Leaves sentences untranslated that are in the target language."""

    name = "already"
    scope = "sentence"
    is_default = True

    def __init__(self, source: str, target: str) -> None:
        """Set the languages to distinguish."""
        self._is_in_target = Certainty(target, source)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the direction's languages."""
        return cls(setting.source, setting.target)

    def leaves(self, sentence: Run) -> bool:
        """Check whether a sentence is in the target language, with or without its names."""
        text = sentence.unprotected()
        if self._is_in_target(text):
            return True
        if _MAY_HOLD_ONE.search(text) is None:
            return False
        without_names = _NAME.sub("", text)
        return without_names != text and self._is_in_target(without_names)

"""Sentences that are certainly in the target language already are not translated."""

import re
from typing import Self

import regex

from service.text.detector import Detector
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

_NAME = regex.compile(r"(?<=\w )\p{Lu}\p{L}++(?!['’])")
"""What has a capital within a sentence: names are words of another language as often as not."""
_MAY_HOLD_ONE = re.compile("\\w [A-Z\x80-\U0010ffff]")
"""A quick look."""


class Already(Rule):
    """Leaves sentences that need no translation."""

    name = "already"
    scope = "sentence"
    is_default = True

    def __init__(self, source: str, target: str) -> None:
        """Look for sentences in `target` among those in `source`."""
        self._source, self._target = source, target
        self._detector = Detector([source, target])

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the direction's languages."""
        return cls(setting.source, setting.target)

    def leaves(self, sentence: Run) -> bool:
        """Whether a sentence is in the target language, which takes four words to tell."""
        text = sentence.unprotected()
        if self._is_in_target(text):
            return True
        if _MAY_HOLD_ONE.search(text) is None:
            return False
        without_names = _NAME.sub("", text)
        return without_names != text and self._is_in_target(without_names)

    def _is_in_target(self, text: str) -> bool:
        return self._detector.is_certainly(text, self._target, self._source)

"""The base of the rules that write numbers as the target language does."""

from collections.abc import Sequence
from copy import copy
from typing import Self

from service.text.languages import NEUTRAL, Language
from service.text.rules.notation import notation_of
from service.text.rules.rule import Rule, Setting


class ConvertingRule(Rule):
    """A rule that converts numbers, except in documents that have them as the target language does."""

    def __init__(self, source: Language = NEUTRAL, target: Language = NEUTRAL) -> None:
        """Set the languages."""
        self._notation = notation_of(source, target)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for both languages."""
        return cls(*setting.languages)

    def adapted(self, texts: Sequence[str]) -> Self:
        """Determine which numbers of a document are converted."""
        notation = self._notation.adapted(texts)
        if notation is self._notation:
            return self
        rule = copy(self)
        rule._notation = notation  # noqa: SLF001 - of the same class
        return rule

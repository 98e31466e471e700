"""Preserves names that a model has never seen, because it may split them into pieces and translate these.

A table of the bundle lists the words that the model has seen.
"""

from collections.abc import Container
from typing import Self, cast

import regex

from service.text.known_words import KnownWords
from service.text.rules.names import Names
from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Run

_CAPITALIZED = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}_'’.-])\p{Lu}\p{Ll}\p{L}++(?![\p{L}\p{M}\p{N}_-]|['’]\p{L}{2})"
)
"""A capitalized word of three letters or more that is not in capitals or part of a compound (Higgs-Boson)."""


class UnknownNames(Rule):
    """Demands that unknown capitalized words are preserved."""

    name = "unknown_names"
    scope = "sentence"
    parameters = Table

    def __init__(self, known: KnownWords, translated: Container[str] = ()) -> None:
        """Set the words that are not unknown names.

        Args:
            known: words of the source language.
            translated: names that another rule translates.
        """
        self._known, self._translated = known, translated

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule with the bundle's table, and the names of the rule `names` if the bundle uses it."""
        languages = setting.source, setting.target
        table = setting.tables.known_words(cast(Table, setting.parameters).table)
        known = table.get(setting.source, KnownWords(()))
        if Names.name not in setting.wanted:
            return cls(known)
        names = cast(Table, setting.wanted[Names.name]).table
        return cls(known, Names.read(setting.tables.folder / names, *languages).words)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each unknown name; a final s may be missing, as of a genitive."""
        if not self._known:
            return True
        text = translation.text
        words = (match[0] for match in _CAPITALIZED.finditer(source.text))
        missing = (
            word for word in words if word not in text and word.removesuffix("s") not in text
        )
        return not any(map(self._is_name, missing))

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect unknown names, and other capitalized words that the translation preserved.

        Most of those are names, too, and a second attempt might lose them.
        """
        if not self._known:
            return run
        kept = translation.words
        return run.protecting(
            match.span()
            for match in _CAPITALIZED.finditer(run.text)
            if (match.start() > 0 and match[0] in kept) or self._is_name(match[0])
        )

    def _is_name(self, word: str) -> bool:
        return word not in self._known and word not in self._translated

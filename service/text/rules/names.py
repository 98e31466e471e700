"""Translates names that a model copied although they are different in the target language.

A model that has learnt to copy unknown names also copies "Norwegen". Copied names are looked up in a table
after the search, as Luong, Sutskever, Le, Vinyals and Zaremba (2015) do with all unknown words.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self, cast

from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Run
from service.text.tables import read_translations

_WORD = re.compile(r"\w+")


class Names(Rule):
    """Translates the names of a table that occur in a sentence and, unchanged, in its translation."""

    name = "names"
    scope = "sentence"
    parameters = Table

    def __init__(self, translations: Mapping[str, str]) -> None:
        """Set the translations; a name that stays the same protects the shorter names in it."""
        self._translations = translations
        self._longer: dict[str, list[str]] = {}
        """Names of several words, by their first word."""
        self._wordless: list[str] = []
        for name in translations:
            if not _WORD.fullmatch(name):
                first_word = _WORD.search(name)
                names = self._longer.setdefault(first_word[0], []) if first_word else self._wordless
                names.append(name)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule with the bundle's table."""
        path = setting.tables.folder / cast(Table, setting.parameters).table
        return cls.read(path, setting.source, setting.target)

    @classmethod
    def read(cls, path: Path, source: str, target: str) -> Self:
        """Read a table of names, as `read_translations` does."""
        return cls(read_translations(path, source, target))

    @property
    def words(self) -> frozenset[str]:
        """The words of all names."""
        return frozenset(word for name in self._translations for word in _WORD.findall(name))

    def restore(self, source: Run, translation: Run) -> Run:
        """Return the translation with its copied names translated."""
        text, words = translation.text, translation.words
        names = self._translations.keys() & words
        if names:  # rarely, so the source's words are not computed otherwise
            names &= source.words
        candidates = self._wordless.copy()
        for word in self._longer.keys() & words:
            candidates += self._longer[word]
        names |= {name for name in candidates if name in source.text and name in text}
        if not names:
            return translation
        longest_first = sorted(names, key=len, reverse=True)
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")
        matches = pattern.finditer(text)
        return translation.edited_outside(
            [(*match.span(), self._translations[match[0]]) for match in matches]
        )

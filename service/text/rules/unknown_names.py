"""Names that a model has never seen: if they do not come through, they are protected.

A model cuts them into pieces and translates these. Which words it has seen, a table of its bundle says.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal, Self, cast

import regex

from service.text.known_words import KnownWords
from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Protected, Run

_CAPITALIZED = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}_'’.-])\p{Lu}\p{Ll}\p{L}+(?![\p{L}\p{M}\p{N}_-]|['’]\p{L}{2})"
)
"""A word of three letters or more that has small ones, but no part of another: not of Higgs-Boson."""


class UnknownNames(Rule):
    """Demands that words with a capital which nobody knows come through as they are."""

    name: ClassVar[str] = "unknown_names"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    parameters = Table

    def __init__(self, known: KnownWords) -> None:
        """`known` are words of the source's language, which are no such names."""
        self._known = known

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """With the words of the bundle's table."""
        path = setting.folder / cast(Table, setting.parameters).table
        source, _ = setting.languages
        return cls(KnownWords.read(path, setting.source, source.compound_links))

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has each of them; an s at the end may be the genitive's, and missing."""
        text = translation.text
        return all(
            match[0] in text or match[0].removesuffix("s") in text for match in self._names(source)
        )

    def protect(self, run: Run) -> Run:
        """The sentence with them protected."""
        return run.protecting(Protected(*match.span()) for match in self._names(run))

    def _names(self, run: Run) -> Iterator["regex.Match[str]"]:
        if not self._known:
            return iter(())
        return (match for match in _CAPITALIZED.finditer(run.text) if match[0] not in self._known)

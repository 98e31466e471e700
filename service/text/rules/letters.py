"""Preserves words with letters that the vocabulary lacks, such as così, which models often copy."""

from collections.abc import Callable, Iterator

import regex

from service.text.rules.rule import SpellingRule
from service.text.run import Run
from service.text.words import absent

_WORD = regex.compile(r"[\p{L}\p{M}]++")
_MAX_FINE = 1_000
"""Maximum number of cached characters that are not such letters."""


class Letters(SpellingRule):
    """Demands that such words are preserved, ignoring case."""

    name = "letters"
    scope = "sentence"
    is_default = True

    def __init__(self, spells: Callable[[str], bool]) -> None:
        """Use `spells`, which checks whether the vocabulary has a character."""
        super().__init__(spells)
        self._fine: set[str] = set()

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has each such word, ignoring case."""
        if not self._lacks(source.text):
            return True
        words = (word[0].casefold() for word in self._words(source.unprotected()))
        return not absent(words, translation.unprotected().casefold())

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect these words."""
        if not self._lacks(run.text):
            return run
        return run.protecting(word.span() for word in self._words(run.text))

    def _words(self, text: str) -> Iterator[regex.Match[str]]:
        return (word for word in _WORD.finditer(text) if self._lacks(word[0]))

    def _lacks(self, text: str) -> bool:
        """Check whether the vocabulary lacks a letter of a text, in its case and in lower case."""
        if text.isascii():
            return False
        for character in set(text) - self._fine:
            if character.isalpha() and not (
                self._spells(character) or self._spells(character.lower())
            ):
                return True
            if len(self._fine) < _MAX_FINE:
                self._fine.add(character)
        return False

"""Words with letters that a vocabulary lacks, as così: models often copy them, but not always."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Literal

import regex

from service.text.rules.rule import SpellingRule
from service.text.run import Protected, Run

_WORD = regex.compile(r"[\p{L}\p{M}]++")
_LOOKED_UP = 1_000
"""Letters of which it is kept whether the vocabulary has them."""


class Letters(SpellingRule):
    """Demands that such words come through as they are; a capital counts as its small letter."""

    name: ClassVar[str] = "letters"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    is_default: ClassVar[bool] = True

    def __init__(self, spells: Callable[[str], bool]) -> None:
        """`spells` says whether the vocabulary has a character."""
        super().__init__(spells)
        self._known: dict[str, bool] = {}

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation has each of them, in whatever case."""
        text = source.text
        if text.isascii() or all(map(self._is_known, set(text))):
            return True
        found = translation.unprotected().casefold()
        words = self._words(source.unprotected())
        return all(word[0].casefold() in found for word in words)

    def protect(self, run: Run, translation: Run) -> Run:  # noqa: ARG002 - whatever it is
        """The sentence with them protected."""
        if run.text.isascii():
            return run
        return run.protecting(Protected(*word.span()) for word in self._words(run.text))

    def _words(self, text: str) -> Iterator[regex.Match[str]]:
        return (word for word in _WORD.finditer(text) if not all(map(self._is_known, word[0])))

    def _is_known(self, character: str) -> bool:
        """Whether it is no letter that the vocabulary lacks."""
        if character.isascii() or not character.isalpha():
            return True
        known = self._known.get(character)
        if known is None:
            known = self._spells(character) or self._spells(character.lower())
            if len(self._known) < _LOOKED_UP:
                self._known[character] = known
        return known

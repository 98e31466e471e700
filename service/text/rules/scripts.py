"""Words in scripts that a model cannot write are protected, as placeholders are."""

import re
from collections.abc import Callable, Iterator
from typing import Self

import regex

from service.text.language_labels import is_written_in, script_of
from service.text.rules.rule import Setting, SpellingRule
from service.text.run import Run
from service.text.words import UNSPACED

# what belongs to a few scripts and not to Latin, punctuation and figures too; ASCII is first, which is faster
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_MAY_HOLD_ONE = re.compile("[^\x00-\u02a9\u2010-\u2027]")
"""A quick look: letters of Latin, and the dashes and quotes that stand between them, are in no word."""
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


_PART = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[^\s{UNSPACED}]++")
"""A word, or a letter of a script without spaces."""


class Scripts(SpellingRule):
    """Protects words of another script that have a letter which a vocabulary cannot write.

    Of a phrase in a script that the source's language is not written in, all words are protected together.
    """

    name = "scripts"
    is_default = True
    is_of_signs = True

    def __init__(self, spells: Callable[[str], bool], source: str = "") -> None:
        """`spells` says whether the vocabulary has a character; `source` is the language's code."""
        super().__init__(spells)
        self._source = source

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the vocabulary of the source."""
        return cls(setting.tokenizers.source.spells, setting.source)

    def prepare(self, run: Run) -> Run:
        """The run with such words protected."""
        if run.text.isascii() or _MAY_HOLD_ONE.search(run.text) is None:
            return run
        phrases = _WORDS.finditer(run.text)
        return run.protecting(span for one in phrases for span in self._spans(one))

    def _spans(self, phrase: regex.Match[str]) -> Iterator[tuple[int, int]]:
        if not self._has_unknown(phrase[0]):
            return
        script = script_of(phrase[0])
        if not (script and self._source and is_written_in(self._source, script)):
            yield phrase.span()
            return
        for part in _PART.finditer(phrase.string, *phrase.span()):
            if self._has_unknown(part[0]):
                yield part.span()

    def _has_unknown(self, text: str) -> bool:
        return any(one.isalpha() and not self._spells(one) for one in set(text))

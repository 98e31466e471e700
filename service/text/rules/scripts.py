"""Protects words in scripts that a model cannot write, and single letters of other scripts (symbols)."""

import re
from collections.abc import Callable, Iterator
from typing import Self

import regex

from service.text.language_labels import is_written_in, script_of
from service.text.rules.rule import Setting, SpellingRule
from service.text.run import Run
from service.text.words import UNSPACED

# characters of scripts other than Latin, including their punctuation and digits; ASCII first, for speed
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_MAY_HOLD_ONE = re.compile("[^\x00-\u02a9\u2010-\u2027]")
"""A fast check: Latin letters, and the dashes and quotes between them, are in no such word."""
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


_MAX_WORD = 40
_SPACED_LETTER = regex.compile(rf"(?![{UNSPACED}])\p{{L}}")
"""One letter of a script with spaces between words; in others, one letter may be a word."""
_WORD_BEFORE, _WORD_BEHIND = regex.compile(r"\w++\Z"), regex.compile(r"\w{1,40}+")
_PART = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[^\s{UNSPACED}]++")
"""A word, or a letter of a script without spaces."""


class Scripts(SpellingRule):
    """Protects words in other scripts that have a letter which the vocabulary lacks.

    If the source language is not written in that script, the whole phrase is protected, and so is a word with
    a single letter of it, such as α or PPARα, even if the vocabulary has the letter: models hardly know it.
    """

    name = "scripts"
    is_default = True
    is_of_signs = True

    def __init__(self, spells: Callable[[str], bool], source: str = "") -> None:
        """Use `spells`, which checks whether the vocabulary has a character; `source` is a language code."""
        super().__init__(spells)
        self._source = source

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the source language and its vocabulary."""
        return cls(setting.tokenizers.source.spells, setting.source)

    def prepare(self, run: Run) -> Run:
        """Protect such words."""
        if run.text.isascii() or _MAY_HOLD_ONE.search(run.text) is None:
            return run
        phrases = _WORDS.finditer(run.text)
        return run.protecting(span for phrase in phrases for span in self._spans(phrase))

    def _spans(self, phrase: regex.Match[str]) -> Iterator[tuple[int, int]]:
        is_single = _SPACED_LETTER.fullmatch(phrase[0]) is not None and self._source != ""
        is_single &= phrase[0] != phrase.string.strip()  # a symbol in a text
        if not (is_single or self._has_unknown(phrase[0])):
            return
        script = script_of(phrase[0])
        if not (script and self._source and is_written_in(self._source, script)):
            yield _word_around(phrase) if is_single else phrase.span()
            return
        if not self._has_unknown(phrase[0]):
            return
        for part in _PART.finditer(phrase.string, *phrase.span()):
            if self._has_unknown(part[0]):
                yield part.span()

    def _has_unknown(self, text: str) -> bool:
        return any(character.isalpha() and not self._spells(character) for character in set(text))


def _word_around(letter: regex.Match[str]) -> tuple[int, int]:
    """Return the span of the word with a letter."""
    begin, end = letter.span()
    before = _WORD_BEFORE.search(letter.string, max(0, begin - _MAX_WORD), begin)
    after = _WORD_BEHIND.match(letter.string, end)
    return (before.start() if before else begin), (after.end() if after else end)

"""Sentences whose case says nothing: IN CAPITALS, in small letters, With A Capital In Front Of All Words.

Models have hardly seen such ones. They are translated as they would stand in a book.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal, Self

from service.text.languages import CAPITALIZE_NOUNS
from service.text.rules.rule import Rule, Setting
from service.text.run import Run

FEWEST_LETTERS, FEWEST_SMALL_WORDS, FEWEST_CAPITAL_WORDS = 5, 3, 2
"""Of a sentence in capitals, in small letters, with a capital in front of all words: less may be meant so."""
_ENDS = (".", "!", "?", "…", ":")
_LETTER, _WORD = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")


def is_in_capitals(text: str) -> bool:
    """Whether all of a text's letters are capitals; not so of acronyms alone.

    >>> is_in_capitals("ACHTUNG!"), is_in_capitals("NATO"), is_in_capitals("Die NATO")
    (True, False, False)
    """
    return text.isupper() and len(_LETTER.findall(text)) >= FEWEST_LETTERS


def says_nothing(text: str, capitalizes_nouns: bool) -> bool:
    """Whether the case of a text's letters tells no names and nouns from other words.

    >>> [says_nothing(text, False) for text in ("Save As", "Call Tom now", "how are you?", "OK")]
    [True, False, True, False]
    """
    words = _WORD.findall(text)
    if text.islower():
        return len(words) >= FEWEST_SMALL_WORDS
    if text.isupper() or capitalizes_nouns or len(words) < FEWEST_CAPITAL_WORDS:
        return is_in_capitals(text)
    return all(word[0].isupper() for word in words)


def in_usual_case(
    text: str, usual_case: Callable[[str], str], keeps_acronyms: bool, is_first: bool = True
) -> str:
    """A text with each word in the case that it has mostly, as long as it was.

    A capital in front stays if it `is_first` of its sentence; if `keeps_acronyms`, so do words in capitals.
    """
    found = _LETTER.search(text) if is_first else None
    first = found.end() if found and found.group().isupper() else 0

    def recase(match: re.Match[str]) -> str:
        word = match.group()
        return word if keeps_acronyms and len(word) > 1 and word.isupper() else usual_case(word)

    recased = _WORD.sub(recase, text)
    return text[:first] + recased[first:] if len(recased) == len(text) else text


class Case(Rule):
    """Gives words the case they mostly have where a sentence's says nothing, and the translation its own.

    A translation is in capitals where its source is, and begins with one where a sentence does.
    """

    name: ClassVar[str] = "case"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"

    def __init__(self, usual_case: Callable[[str], str], capitalizes_nouns: bool) -> None:
        """`usual_case` gives a word the case that it mostly has; the source may capitalise its nouns."""
        self._usual_case, self._capitalizes_nouns = usual_case, capitalizes_nouns

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the source's language and vocabulary."""
        return cls(setting.tokenizers.source.usual_case, setting.source in CAPITALIZE_NOUNS)

    def prepare(self, run: Run) -> Run:
        """The sentence with its words in their usual case."""
        rest = run.unprotected()
        if not says_nothing(rest, self._capitalizes_nouns):
            return run
        keeps_acronyms = not is_in_capitals(rest)
        pieces, at = [], 0
        for one in run.protected:
            pieces += [run.text[at : one.begin], run.text[one.begin : one.end]]
            at = one.end
        pieces.append(run.text[at:])
        is_first = True
        for place in range(0, len(pieces), 2):
            piece = pieces[place]
            pieces[place] = in_usual_case(piece, self._usual_case, keeps_acronyms, is_first)
            is_first = is_first and _LETTER.search(piece) is None
        return replace(run, text="".join(pieces))

    def restore(self, source: Run, translation: Run) -> Run:
        """The translation in capitals, or with one in front."""
        if is_in_capitals(source.unprotected()):
            return translation.edited(
                [
                    (at, at + 1, one.upper())
                    for at, one in enumerate(translation.text)
                    if one != one.upper() and not translation.is_protected(at)
                ]
            )
        text = translation.text
        word = _WORD.match(text)
        if (
            word is None
            or translation.is_protected(0)
            or not (word[0].islower() and source.text[:1].isupper())
            or not source.text.endswith(_ENDS)
        ):
            return translation
        return translation.edited([(0, 1, text[0].title())])

"""Sentences whose case says nothing: IN CAPITALS, in small letters, With A Capital In Front Of All Words.

Models have hardly seen such ones. They are translated as they would stand in a book.
"""

import re
from collections.abc import Callable

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


def begun_alike(source: str, translation: str) -> str:
    """A translation with a capital in front if its source is a sentence with one; models forget it at times.

    >>> begun_alike("Und du?", "and you?"), begun_alike("Haus", "house"), begun_alike("Ja.", "iOS, yes.")
    ('And you?', 'house', 'iOS, yes.')
    """
    word = _WORD.match(translation)
    if word and word[0].islower() and source[:1].isupper() and source.endswith(_ENDS):
        return translation[0].title() + translation[1:]
    return translation


def in_usual_case(text: str, usual_case: Callable[[str], str], keeps_acronyms: bool) -> str:
    """A text with each word in the case that it has mostly, as long as it was.

    A capital in front stays, and, if `keeps_acronyms`, so do words in capitals.
    """
    found = _LETTER.search(text)
    first = found.end() if found and found.group().isupper() else 0

    def recase(match: re.Match[str]) -> str:
        word = match.group()
        return word if keeps_acronyms and len(word) > 1 and word.isupper() else usual_case(word)

    recased = _WORD.sub(recase, text)
    return text[:first] + recased[first:] if len(recased) == len(text) else text

"""SENTENCES IN CAPITALS, which models have hardly seen: translated in small letters, put back in capitals."""

import re

FEWEST_LETTERS = 5
"""Of a sentence in capitals; what has less may be an acronym."""
_LETTER = re.compile(r"[^\W\d_]")


def is_in_capitals(text: str) -> bool:
    """Whether all of a text's letters are capitals, and can be had as small letters, one for one.

    >>> is_in_capitals("ACHTUNG!"), is_in_capitals("NATO"), is_in_capitals("Die NATO")
    (True, False, False)
    """
    return (
        text.isupper()
        and len(_LETTER.findall(text)) >= FEWEST_LETTERS
        and len(text.lower()) == len(text)
    )


def in_small_letters(text: str) -> str:
    """As it would stand otherwise, nouns and names apart.

    >>> in_small_letters("«BITTE NICHT!»")
    '«Bitte nicht!»'
    """
    found = _LETTER.search(text)
    first = found.end() if found else 0
    return text[:first] + text[first:].lower()

"""Unicode's normal forms, in linear time."""

import unicodedata
from typing import Literal

import regex

_PART = regex.compile(r"\P{M}*+\p{M}{0,30}+")
"""At most as many marks in a row as in Unicode's Stream-Safe Text Format (UAX #15, section 13)."""


def normalize(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    r"""Normalize a text as `unicodedata.normalize` does, which takes quadratic time to sort marks in a row.

    Of more than 30 marks in a row, each 30 are sorted on their own.

    >>> normalize("NFC", "a\u0308")
    'ä'
    """
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, part) for part in _PART.findall(text))

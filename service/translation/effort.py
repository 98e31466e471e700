"""The effort of reading a text, which is known before it is read."""

import re
from collections.abc import Sequence

EFFORT_ON_LOOP = 500
"""Beyond this, texts are read and reassembled on another thread, as that takes milliseconds."""
EFFORT_A_TEXT, EFFORT_A_MARK = 50, 16
"""The effort for each text, and for each mark: what is no letter, digit or space. A character counts as one.

Rules look for placeholders, numbers and ends of sentences at these: a text of nothing else takes up to twenty
times as long as prose.
"""
_LETTERS = re.compile(r"[\w ]++")


def effort_of(texts: Sequence[str]) -> int:
    """Estimate the effort of reading texts, in characters of prose.

    >>> effort_of(["Der Hund schläft."]), effort_of(["%s"])
    (83, 68)
    """
    characters = sum(map(len, texts))
    marks = sum(len(_LETTERS.sub("", text)) for text in texts)
    return characters + EFFORT_A_MARK * marks + EFFORT_A_TEXT * len(texts)

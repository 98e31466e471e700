"""The effort of reading a text, which is known before it is read."""

import re
from collections.abc import Sequence

EFFORT_ON_LOOP = 500
"""Beyond this, texts are read and reassembled on another thread, as that takes milliseconds."""
EFFORT_A_TEXT, EFFORT_A_MARK = 50, 16
"""The effort for each text, and for each mark. A character counts as one.

Marks are what is no letter or space, and letters next to one of another script. Rules look for placeholders,
numbers, words and ends of sentences at these: a text of nothing else takes up to twenty times as long as
prose.
"""
STRETCHES, STRETCH = 20, 100
"""The marks of a long text are counted in that many stretches of that many characters: to count all of them
would block the event loop."""
_LETTERS = re.compile(r"(?:[^\W\d]| )++")
_LATIN = r"a-zA-Z\u00c0-\u02af\u1e00-\u1eff"
_OTHER_SCRIPT = rf"[^\W\d_{_LATIN}]"
_HAS_OTHER_SCRIPT = re.compile(_OTHER_SCRIPT)
_BETWEEN_SCRIPTS = re.compile(rf"[{_LATIN}](?={_OTHER_SCRIPT})|{_OTHER_SCRIPT}(?=[{_LATIN}])")


def effort_of(texts: Sequence[str]) -> int:
    """Estimate the effort of reading texts, in characters of prose.

    >>> effort_of(["Der Hund schläft."]), effort_of(["%s"])
    (83, 68)
    >>> effort_of(["日本 Tokyo 日本"]), effort_of(["日a本"])
    (61, 85)
    >>> effort_of(["Tôi học tiếng Việt"])
    68
    """
    text = " ".join(texts)
    sample = text
    if len(text) > STRETCHES * STRETCH:
        distance = len(text) // STRETCHES
        starts = range(0, STRETCHES * distance, distance)
        sample = " ".join(text[start : start + STRETCH] for start in starts)
    marks = len(_LETTERS.sub("", sample))
    if _HAS_OTHER_SCRIPT.search(sample):
        marks += len(_BETWEEN_SCRIPTS.findall(sample))
    all_marks = marks * len(text) // max(1, len(sample))
    return sum(map(len, texts)) + EFFORT_A_MARK * all_marks + EFFORT_A_TEXT * len(texts)

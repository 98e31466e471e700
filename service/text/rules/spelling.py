"""What people type, and a vocabulary has otherwise."""

import re

from service.text.edits import edited
from service.text.run import Run

_UNTIDY = re.compile(
    r"\x00+|(?<=\w)(?:[\u00ad\u200b\u2060\ufeff]+|(?P<accent>[`´]))(?=\w)"  # soft hyphens; don`t
)


def tidied(run: Run) -> Run:
    """A run without what is invisible within its words, and with apostrophes where accents stand for them.

    Nor does it have a NUL, which is a word to a vocabulary; all other control characters are nothing to it.
    """
    places = [
        (*match.span(), "'" if match["accent"] else "") for match in _UNTIDY.finditer(run.text)
    ]
    return edited(run, places)

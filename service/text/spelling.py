"""What people type, and a vocabulary has otherwise."""

import re

from service.text.edits import edited
from service.text.markup import Run

_WITHIN_WORDS = re.compile(
    r"(?<=\w)(?:(?P<invisible>[\u00ad\u200b\u2060\ufeff]+)|[`´])(?=\w)"  # soft hyphens; don`t
)


def tidied(run: Run) -> Run:
    """A run without what is invisible within its words, and with apostrophes where accents stand for them."""
    found = _WITHIN_WORDS.finditer(run.text)
    places = [(*match.span(), "" if match["invisible"] else "'") for match in found]
    return edited(run, places)

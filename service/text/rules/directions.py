"""Direction marks around words: in the translation, they surround the corresponding words."""

import re

from service.text.rules.pairs import MarkPair, as_tags
from service.text.rules.rule import Rule
from service.text.run import Run

_PAIRS = re.compile(
    r"[\u2066-\u2068][^\u2066-\u2069\n]+\u2069"  # as Fluent writes around what it inserts
    r"|[\u202a\u202b\u202d\u202e][^\u202a-\u202e\n]+\u202c"
)
_OPENING = re.compile("[\u202a\u202b\u202d\u202e\u2066-\u2068]")


class Directions(Rule):
    """Converts pairs of direction marks to tags."""

    name = "directions"
    is_default = True
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Return the run with its pairs of direction marks as tags."""
        if run.text.isascii() or not _OPENING.search(run.text):
            return run
        pairs: list[MarkPair] = []
        for match in run.between_tags(_PAIRS.finditer):
            start, end = match.start(), match.end() - 1
            pairs.append(((start, start + 1, run.text[start]), (end, end + 1, run.text[end])))
        return as_tags(run, pairs)

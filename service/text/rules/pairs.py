"""Marks around words, as tags: in a translation, they are around the words that translate those."""

from collections.abc import Sequence

from service.text.edits import Place, edited
from service.text.rules.placeholders import is_inside, spans
from service.text.run import Run, Tag

Pair = tuple[Place, Place]
"""Where the opening and the closing mark are, and how each is written in the translation."""


def as_tags(run: Run, pairs: Sequence[Pair]) -> Run:
    """A run with these pairs, in order, as tags, but for those of which a mark is a placeholder's.

    Where another tag stands at the place of a mark, the mark is behind it.
    """
    if not pairs:
        return run
    untouched = spans(run.text)
    marks = [pair for pair in pairs if not any(is_inside(first, untouched) for first, _, _ in pair)]
    tags = [
        tag
        for (opening, _, opens), (closing, _, closes) in marks
        for tag in (Tag(opening, opens, "open"), Tag(closing, closes, "close"))
    ]
    together = sorted([*run.tags, *tags], key=lambda tag: tag.at)
    places = [(first, last, "") for pair in marks for first, last, _ in pair]
    return edited(Run(run.text, together, run.protected), places)

"""Paired marks as tags: in a translation, they surround the words that translate those between them."""

from collections.abc import Sequence
from dataclasses import replace

from service.text.run import Place, Run, Tag

Pair = tuple[Place, Place]
"""Where the opening and the closing mark are, and how each is written in the translation."""


def as_tags(run: Run, pairs: Sequence[Pair]) -> Run:
    """A run with these pairs, in order, as tags, but for those of which a mark is protected.

    Where another tag stands at the place of a mark, the mark is behind it.
    """
    marks = [pair for pair in pairs if not any(run.is_protected(first) for first, _, _ in pair)]
    if not marks:
        return run
    tags = [
        tag
        for (opening, _, opens), (closing, _, closes) in marks
        for tag in (Tag(opening, opens, "open"), Tag(closing, closes, "close"))
    ]
    together = sorted([*run.tags, *tags], key=lambda tag: tag.at)
    places = [(first, last, "") for pair in marks for first, last, _ in pair]
    return replace(run, tags=together).edited(places)

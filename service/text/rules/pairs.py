"""Converts paired marks to tags: in the translation, they surround the corresponding words."""

from collections.abc import Sequence
from dataclasses import replace

from service.text.run import Place, Run, Tag

MarkPair = tuple[Place, Place]
"""The places of the opening and the closing mark, and how each is written in the translation."""


def as_tags(run: Run, pairs: Sequence[MarkPair]) -> Run:
    """Convert pairs, in the order of their opening marks, to tags, unless a part of a mark is protected.

    A mark follows other tags at the same place.
    """
    marks = [
        pair
        for pair in pairs
        if not any(run.protected_between(start, end) for start, end, _ in pair)
    ]
    if not marks:
        return run
    tags = [
        tag
        for (opening, _, opens), (closing, _, closes) in marks
        for tag in (Tag(opening, opens, "open"), Tag(closing, closes, "close"))
    ]
    all_tags = sorted([*run.tags, *tags], key=lambda tag: tag.at)
    places = sorted((start, end, "") for pair in marks for start, end, _ in pair)
    return replace(run, tags=all_tags).edited(places)

"""The nesting of a run's inline tags: which belong to a sentence, and which enclose all of it."""

from collections.abc import Sequence
from itertools import accumulate

from service.errors import TextTooDeepError
from service.text.run import Tag

MAX_NESTING = 100
"""Maximum depth of nested inline elements."""


def without_empty_elements(tags: Sequence[Tag]) -> list[Tag]:
    """Merge the tags of each empty element into one void tag, as it encloses no words in the translation."""
    merged: list[Tag] = []
    for tag in tags:
        previous = merged[-1] if merged else None
        if (
            tag.kind == "close"
            and previous is not None
            and previous.kind == "open"
            and previous.at == tag.at
        ):
            merged[-1] = Tag(tag.at, previous.raw + tag.raw, "void")
        else:
            merged.append(tag)
    return merged


def check_nesting(tags: Sequence[Tag]) -> None:
    """Check the depth of nested elements, because they are written recursively.

    Raises:
        TextTooDeepError: elements are nested more than `MAX_NESTING` deep.
    """
    deepest = depth(tags)
    if deepest > MAX_NESTING:
        raise TextTooDeepError(
            f"Invalid request: inline elements are nested {deepest} deep, the limit is {MAX_NESTING}"
        )


def depth(tags: Sequence[Tag]) -> int:
    """Return the depth of nested elements, including those that begin before the tags or end after them."""
    depths = [0, *accumulate(tag.depth for tag in tags)]
    return max(depths) - min(depths)


def belongs(tag: Tag, start: int, end: int, is_last: bool) -> bool:
    """Check whether a tag belongs to a stretch of text; close tags belong to the text before them."""
    return tag.at <= end if tag.kind == "close" or is_last else tag.at < max(end, start + 1)


def outermost(
    tags: Sequence[Tag], end: int
) -> tuple[tuple[str, ...], tuple[Tag, ...], tuple[str, ...]]:
    """Split a sentence's tags into those before all of it, those to align, and those after its `end`.

    Close tags that depend on the text before them are aligned; see `Tag.full`.
    """
    first, last = 0, len(tags)
    closing: dict[int, int] | None = None
    while first < last:
        first_tag, last_tag = tags[first], tags[last - 1]
        if first_tag.kind == "void" and first_tag.at == 0:
            first += 1
        elif last_tag.kind == "void" and last_tag.at == end:
            last -= 1
        elif first_tag.at == 0 and last_tag.at == end and not last_tag.full:
            closing = close_tags(tags) if closing is None else closing
            if closing.get(first) != last - 1:
                break
            first, last = first + 1, last - 1
        else:
            break
    raws = tuple(tag.raw for tag in tags)
    return raws[:first], tuple(tags[first:last]), raws[last:]


def close_tags(tags: Sequence[Tag]) -> dict[int, int]:
    """Return the index of the close tag for that of each open tag."""
    opened: list[int] = []
    close_tags: dict[int, int] = {}
    for index, tag in enumerate(tags):
        if tag.kind == "open":
            opened.append(index)
        elif tag.kind == "close" and opened:
            close_tags[opened.pop()] = index
    return close_tags

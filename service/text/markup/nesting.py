"""The nesting of a run's inline tags: which belong to a sentence, and which enclose all of it."""

from collections.abc import Sequence
from itertools import accumulate

from service.errors import TextTooDeepError
from service.text.run import Tag

MAX_NESTING = 100
"""Maximum depth of nested inline elements."""


def without_empty_elements(tags: Sequence[Tag]) -> list[Tag]:
    """Merge the tags of each empty element into one void tag, as it encloses no words in the translation."""
    kept: list[Tag] = []
    for tag in tags:
        before = kept[-1] if kept else None
        if (
            tag.kind == "close"
            and before is not None
            and before.kind == "open"
            and before.at == tag.at
        ):
            kept[-1] = Tag(tag.at, before.raw + tag.raw, "void")
        else:
            kept.append(tag)
    return kept


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


def belongs(tag: Tag, begin: int, end: int, is_last: bool) -> bool:
    """Check whether a tag belongs to a stretch of text; close tags belong to the text before them."""
    return tag.at <= end if tag.kind == "close" or is_last else tag.at < max(end, begin + 1)


def outermost(
    tags: Sequence[Tag], end: int
) -> tuple[tuple[str, ...], tuple[Tag, ...], tuple[str, ...]]:
    """Split a sentence's tags into those before all of it, those to align, and those after its `end`."""
    first, last = 0, len(tags)
    closing: dict[int, int] | None = None
    while first < last:
        in_front, behind = tags[first], tags[last - 1]
        if in_front.kind == "void" and in_front.at == 0:
            first += 1
        elif behind.kind == "void" and behind.at == end:
            last -= 1
        elif in_front.at == 0 and behind.at == end:
            closing = _closing(tags) if closing is None else closing
            if closing.get(first) != last - 1:
                break
            first, last = first + 1, last - 1
        else:
            break
    raws = tuple(tag.raw for tag in tags)
    return raws[:first], tuple(tags[first:last]), raws[last:]


def _closing(tags: Sequence[Tag]) -> dict[int, int]:
    """Return the index of the close tag for that of each open tag."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for at, tag in enumerate(tags):
        if tag.kind == "open":
            opened.append(at)
        elif tag.kind == "close" and opened:
            found[opened.pop()] = at
    return found

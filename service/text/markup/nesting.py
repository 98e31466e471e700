"""How the inline tags of a run nest: which go with a sentence, and which of these are around all of it."""

from collections.abc import Sequence
from itertools import accumulate

from service.errors import TextTooDeepError
from service.text.run import Tag

MAX_NESTING = 100
"""Inline elements within one another."""


def without_empty_elements(tags: Sequence[Tag]) -> list[Tag]:
    """Elements around nothing, as single tags: they cannot be around anything in the translation either."""
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
    """Refuse what would take more than `MAX_NESTING` calls within one another to write again.

    Raises:
        TextTooDeepError: elements are nested deeper.
    """
    deepest = depth(tags)
    if deepest > MAX_NESTING:
        raise TextTooDeepError(
            f"Invalid request: inline elements are nested {deepest} deep, the limit is {MAX_NESTING}"
        )


def depth(tags: Sequence[Tag]) -> int:
    """How deep elements are nested, those that began before the first tag or end behind the last included."""
    depths = [0, *accumulate({"open": 1, "close": -1, "void": 0}[tag.kind] for tag in tags)]
    return max(depths) - min(depths)


def belongs(tag: Tag, begin: int, end: int, is_last: bool) -> bool:
    """Whether a tag goes with the stretch from `begin` to `end`: one that closes, with what is before it."""
    return tag.at <= end if tag.kind == "close" or is_last else tag.at < max(end, begin + 1)


def outermost(
    tags: Sequence[Tag], end: int
) -> tuple[tuple[str, ...], tuple[Tag, ...], tuple[str, ...]]:
    """A sentence's tags: those in front of all of it, those to be aligned, and those behind its `end`."""
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
    """For the place of each tag that opens an element, that of the one that closes it."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for at, tag in enumerate(tags):
        if tag.kind == "open":
            opened.append(at)
        elif tag.kind == "close" and opened:
            found[opened.pop()] = at
    return found

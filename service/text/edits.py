"""Stretches of a text replaced by others, and where its positions are then."""

from collections.abc import Sequence
from dataclasses import replace

from service.text.run import Run

Place = tuple[int, int, str]
"""Where a stretch begins and ends, and what is to stand there."""


def replaced(text: str, places: Sequence[Place]) -> str:
    """`text` with each of the places, in order, replaced."""
    parts, at = [], 0
    for first, last, new in places:
        parts += [text[at:first], new]
        at = last
    return "".join([*parts, text[at:]])


def shifted(positions: Sequence[int], places: Sequence[Place]) -> list[int]:
    """Where positions, in order, are after `replaced`; one within a place is behind what is new there."""
    found, shift, passed = [], 0, 0
    for at in positions:
        while passed < len(places) and places[passed][1] <= at:
            first, last, new = places[passed]
            shift, passed = shift + len(new) - (last - first), passed + 1
        first, _, new = places[passed] if passed < len(places) else (at, at, "")
        found.append((first + len(new) if first < at else at) + shift)
    return found


def edited(run: Run, places: Sequence[Place]) -> Run:
    """A run with each of the places, in order, replaced in its text; the run itself, if there is none."""
    if not places:
        return run
    tags = shifted([tag.at for tag in run.tags], places)
    firsts = shifted([first for first, _, _ in run.protected], places)
    lasts = shifted([last for _, last, _ in run.protected], places)
    raws = [raw for _, _, raw in run.protected]
    return Run(
        replaced(run.text, places),
        [replace(tag, at=at) for tag, at in zip(run.tags, tags, strict=True)],
        list(zip(firsts, lasts, raws, strict=True)),
    )

r"""Splits runs at separators of cells and lines: tabs, pipes, several spaces, `\N` in subtitles."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from service.text.rules.placeholders import Placeholders
from service.text.run import Run

_ANY = re.compile(r"[\t|\\]| {3}")
_BETWEEN_CELLS = re.compile(
    r"""
      (?<=\S)[ ]*+\t[ \t]*+  # at the beginning of a line, it is indentation
    | (?<=\S)[ ]++\|[ ]++(?=[^\s|])
    | (?<=\S)[ ]{3,}+(?=\S)  # columns
    | ^[ ]*+\|[ ]++(?=[^\s|]) | (?<=[^\s|])[ ]++\|[ ]*+$  # around a row
    """,
    re.VERBOSE | re.MULTILINE,
)
_LINE = re.compile(r"[^\r\n]*+(\r\n|[\r\n]|\Z)")
_TOKEN = re.compile(r"\S++")
_PATH = re.compile(r"[A-Za-z]:\\|\\\\|\\[^nN{]")
_BREAK = re.compile(r"\\N|(?<!\w)\\n|\\n(?![a-z])")


def cut(run: Run) -> list[str | Run]:
    """Split a run into cells and separators, in order; without separators, return the run alone."""
    if not _ANY.search(run.text):
        return [run]
    return cut_at(run, _separators(run))


def cut_at(run: Run, places: Sequence[tuple[int, int]]) -> list[str | Run]:
    """Split a run at these stretches, in order; they are returned as they are written, with their tags."""
    pieces: list[str | Run] = []
    at = tag = 0
    for first, last in [*places, (len(run.text), len(run.text))]:
        first_tag = tag
        while tag < len(run.tags) and run.tags[tag].at <= first:
            tag += 1
        first_within = tag
        while tag < len(run.tags) and run.tags[tag].at < last:
            tag += 1
        pieces.append(run.part(at, first, run.tags[first_tag:first_within]))
        pieces.append(run.part(first, last, run.tags[first_within:tag]).written())
        at = last
    return list(filter(None, pieces))


def _separators(run: Run) -> list[tuple[int, int]]:
    """Return the separators, in order: between cells, at the ends of rows, and written line breaks."""
    edges = [tag.at for tag in run.tags]
    placeholders = Placeholders().prepare(run)  # {{ name | upper }} is one cell
    found: list[tuple[int, int]] = []
    before = (0, 0)
    for line in _LINE.finditer(run.text):
        cells = [
            (first, last)
            for first, last in _in_line(run.text, line.start(), line.start(1))
            if not _has_tag_within(edges, first, last)
            and not placeholders.protected_between(first, last)
        ]
        if cells and not _has_tag_within(edges, *line.span(1)):
            if before not in (*found[-1:], (0, 0)):
                found.append(before)
            found += [*cells, line.span(1)]
        before = line.span(1)
    return found


def _has_tag_within(edges: list[int], first: int, last: int) -> bool:
    """Check whether one of the tags' places is within a stretch."""
    return bisect_right(edges, first) < bisect_left(edges, last)


def _in_line(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Return the separators and breaks in a line, except backslashes in paths."""
    found = [match.span() for match in _BETWEEN_CELLS.finditer(text, first, last)]
    for token in _TOKEN.finditer(text, first, last):
        if "\\" in token[0] and not _PATH.search(token[0]):
            found += [match.span() for match in _BREAK.finditer(text, *token.span())]
    return sorted(found)

r"""Splits runs at separators of cells and lines: tabs, pipes, several spaces, `+++`, `\N`, `\n` and `\t`."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from service.text.markup.nesting import without_empty_elements
from service.text.rules.placeholders import WRITTEN_BREAK, Placeholders
from service.text.run import PROTECTED, Run, replaced
from service.text.words import Span

_EM, OTHER_BLANKS = "[\u2001\u2003]", "\u00a0\u2000\u2001\u2002\u2003\u2007\u3000"
"""The blanks as wide as three plain spaces, and those within a line that are not plain spaces."""
_BLANK = f"[ {OTHER_BLANKS}]"
_BETWEEN_COLUMNS = rf"{_BLANK}(?:{_BLANK}{{2,}}+|(?<={_EM}){_BLANK}?+|{_EM})"
GAP = re.compile(_BETWEEN_COLUMNS)
_BETWEEN_NEWS = r"(?:\+{3,}+|/{3,}+)"
_IN_MARKUP = re.compile(rf"{_BETWEEN_COLUMNS}|(?<=\w[ ]){_BETWEEN_NEWS}[ ]++(?=\w)")
_LEADERS = r"(?<=\w)[ ]++(?:\.[ ]?){3,}+[ ]*+(?=(?:\d++|[ivxlc]++)[ ]*+$)"
"""Dots between a title and its page in a table of contents."""
_ANY = re.compile(rf"[\t|\\]|\.[ ]?\.[ ]?\.|{_BETWEEN_COLUMNS}|[ ]{_BETWEEN_NEWS}[ ]")
_BETWEEN_CELLS = re.compile(
    rf"""
      (?:(?<=\w),(?=\t)|(?<=\S)[ ]*+)\t[ \t]*+  # at the beginning of a line, it is indentation
    | (?<=\S)[ ]++\|[ ]++(?=[^\s|])
    | (?<=\w[ ]){_BETWEEN_NEWS}[ ]++(?=\w)
    | (?<=\S){_BETWEEN_COLUMNS}(?=\S) | {_LEADERS}
    | ^[ ]*+\|[ ]++(?=[^\s|]) | (?<=[^\s|])[ ]++\|[ ]*+$  # around a row
    """,
    re.VERBOSE | re.MULTILINE,
)
_LINE = re.compile(r"[^\r\n]*+(\r\n|[\r\n]|\Z)")
_TOKEN = re.compile(r"\S++")
_PATH = re.compile(
    r"\b[A-Za-z]:\\|\\\\|(?<!\S)\.{1,2}\\|\\(?![nrtN{]|[^\w\s]|u[\da-fA-F]{4}|\Z)|\w\\[nrt][\w-]*+\.\w"
)
_WITHIN_WORD = re.compile(r"\w\\[nrt][a-z]")
_BREAK = re.compile(rf"(?:,(?=\\t))?+{WRITTEN_BREAK}")


def cut(run: Run) -> list[str | Run]:
    """Split a run into cells and separators, in order; without separators, return the run alone."""
    if not _ANY.search(run.text):
        return [run]
    return cut_at(run, _separators(run))


def cut_at_gaps(run: Run) -> list[str | Run]:
    """Split a run of HTML or XML at `+++`, written breaks, and gaps in which not all blanks are plain."""
    gaps = [match.span() for match in _IN_MARKUP.finditer(run.text) if match[0].strip(" ")]
    if "\\" in run.text:
        gaps = sorted([*gaps, *_written_breaks(run.text, 0, len(run.text))])
    return cut_at(run, gaps) if gaps else [run]


def cut_at(run: Run, places: Sequence[Span]) -> list[str | Run]:
    """Split a run at these stretches, in order; they are returned as they are written, with their tags."""
    pieces: list[str | Run] = []
    start = next_tag = 0
    for separator_start, separator_end in [*places, (len(run.text), len(run.text))]:
        first_tag = next_tag
        while next_tag < len(run.tags) and run.tags[next_tag].at <= separator_start:
            next_tag += 1
        first_within = next_tag
        while next_tag < len(run.tags) and run.tags[next_tag].at < separator_end:
            next_tag += 1
        pieces.append(run.part(start, separator_start, run.tags[first_tag:first_within]))
        pieces.append(
            run.part(separator_start, separator_end, run.tags[first_within:next_tag]).written()
        )
        start = separator_end
    return list(filter(None, pieces))


def _separators(run: Run) -> list[Span]:
    """Return the separators, in order: between cells, at the ends of rows, and written line breaks.

    An image or another element without text is read like a word.
    """
    edges = [tag.at for tag in run.tags]
    voids = [tag.at for tag in without_empty_elements(run.tags) if tag.kind == "void"]
    text = replaced(run.text, [(at, at, PROTECTED) for at in voids])
    marks = [at + index for index, at in enumerate(voids)]
    placeholders = Placeholders().prepare(run)  # {{ name | upper }} is one cell
    separators: list[Span] = []
    previous_break = (0, 0)
    for line in _LINE.finditer(text):
        *cells, line_break = (
            (start - bisect_left(marks, start), end - bisect_left(marks, end))
            for start, end in [*_in_line(text, line.start(), line.start(1)), line.span(1)]
        )
        cells = [
            cell
            for cell in cells
            if not _has_tag_within(edges, *cell)
            and not any(map(placeholders.is_protected, (cell[0], cell[1] - 1)))
        ]
        if cells and not _has_tag_within(edges, *line_break):
            if previous_break not in (*separators[-1:], (0, 0)):
                separators.append(previous_break)
            separators += [*cells, line_break]
        previous_break = line_break
    return separators


def _has_tag_within(edges: list[int], start: int, end: int) -> bool:
    """Check whether one of the tags' places is within a stretch."""
    return bisect_right(edges, start) < bisect_left(edges, end)


def _in_line(text: str, start: int, end: int) -> list[Span]:
    """Return the separators and written breaks in a line."""
    spans = [match.span() for match in _BETWEEN_CELLS.finditer(text, start, end)]
    return sorted([*spans, *_written_breaks(text, start, end)])


def _written_breaks(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the written breaks in a stretch, except backslashes in paths, which may have spaces."""
    has_path = False
    for token in _TOKEN.finditer(text, start, end):
        if "\\" not in token[0]:
            continue
        if _PATH.search(token[0]):
            has_path = True
        elif not (has_path and _WITHIN_WORD.search(token[0])):
            yield from (match.span() for match in _BREAK.finditer(text, *token.span()))

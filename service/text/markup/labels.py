"""Splits runs and lines that consist only of the labels of a path or list, so that none is lost.

File → Save, Yes|No, and red,green,blue are such lines. So are lines of CSV with quotes, and ✓ Dog ✓ Cat.

A path within a sentence is not split. Two words with two dots between them are labels, too: Monday..Friday.
So is a label with an arrow that looks like a quote: Next ».
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import regex

from service.text.markup import records
from service.text.markup.cells import cut_at
from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from service.text.segmenter import Splitting, line_breaks
from service.text.words import UNSPACED, Span

_MOST_WORDS = 3
"""Maximum words of a label."""
_MOST_CHARACTERS = 5
"""Maximum characters of a label in a script without spaces."""
_ARROWS = "\u2190-\u21ff\u2794\u2798-\u27be\u27f0-\u27ff\u2900-\u297f▶▸►"
_TYPED = "<?-{1,3}>|={1,2}>|<-{1,3}"
_BETWEEN = regex.compile(
    rf"""
      (?<=\S)[ \u00a0]++(?:[{_ARROWS}]\ufe0f?|{_TYPED})[ \u00a0]++(?=\S)
    | (?<=\w)[{_ARROWS}](?=\w) | (?<=[^\s|])\|(?=[^\s|])
    | (?<=\S)[ \u00a0]++[»›|][ \u00a0]++(?=\S)
    """,
    regex.VERBOSE,
)
_GREATER = re.compile(r"(?<=[^\W\d_]{2})[ \u00a0]++>[ \u00a0]++(?=[^\W\d_]{2})")
_BETWEEN_ITEMS = regex.compile(
    r"(?<=[^\s,;])[,;](?:(?!\d)|(?<!\d.))(?=[^\s,;])(?![\p{Pe}\p{Pf}\p{Pi}\"'](?:\s|\Z))"  # not “a,” “b,”
)
_BULLETS = (
    "✓✔✗✘✅❌☐☑☒★☆•◦▪▫■□●○◆◇♦⚪⚫\U0001f534\U0001f535\U0001f536-\U0001f539\U0001f7e0-\U0001f7e4"
)
_BEFORE_ITEM = re.compile(
    rf"[ \u00a0]*+(?<!\S)(?:[{_BULLETS}]\ufe0f?|\d\ufe0f?\u20e3)[ \u00a0]++(?=\S)"
)
"""A sign before an item of a list on one line: ✓ Dog ✓ Cat."""
_MIN_LABELS = 3
"""Minimum labels between signs that sentences have, too: Home > Shoes > Boots; red,green,blue."""
_TWO_WORDS = regex.compile(r"\s*+[\p{L}\p{M}]++(\.\.)[\p{L}\p{M}]++\s*+")
_ARROW_AT_EDGE = regex.compile(
    r"""
      \s*+([«‹])(?=[ \u00a0])[^«»‹›]*+(?<!\p{Sentence_Terminal}\s*)
    | [^«»‹›]*+(?<=\w[ \u00a0])([»›])\s*+
    """,
    regex.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(
    rf"[{_ARROWS}{_BULLETS}\u20e3«»‹›|<>.,;](?:(?<![<>.,;])|(?<=[,;])[^\s\d]|(?<=<)-|(?<=\.)\.\w"
    r"|(?<=[-=]>)[ \u00a0]|(?<=[^\W\d_][ \u00a0]>)[ \u00a0])"
)
"""A fast check that rejects most texts; it begins with a set."""
_WITHOUT_BLANKS = re.compile(f"[{UNSPACED}]")
_OF_PROSE = regex.compile(
    r"""
      \p{Sentence_Terminal}[\s\p{Pe}\p{Pf}"']*+\Z
    | [«‹]  # the closing quote is not a separator
    | \([^()]*+\Z | \A[^()]*+\)  # brackets around a separator
    """,
    regex.VERBOSE,
)


def cut(run: Run, splitting: Splitting) -> list[str | Run]:
    """Return labels and separators, in order, or only the run if it is anything else.

    If the text is split at line breaks, each line may be a path or list.
    """
    if run.is_of_words or _MAY_HOLD_ONE.search(run.text) is None:
        return [run]
    placeholders = cache(lambda: Placeholders().prepare(run))
    separators: list[Span] = []
    edges = [(0, 0), *line_breaks(run.text, splitting), (len(run.text), len(run.text))]
    for before, after in pairwise(edges):
        if found := _separators(run.text, before[1], after[0], placeholders):
            separators += [before, *found, after]
    places = [span for span in dict.fromkeys(separators) if span != (0, 0)]
    return cut_at(run, places) if places else [run]


def _separators(text: str, begin: int, end: int, placeholders: Callable[[], Run]) -> list[Span]:
    """Return the separators of a line, or of a text that is not split into lines; none if it has other words.

    Those in placeholders, such as `a -> b` in backticks, are none.
    """
    if two_words := _TWO_WORDS.fullmatch(text, begin, end):
        return [two_words.span(1)]
    if arrow := _ARROW_AT_EDGE.fullmatch(text, begin, end):
        return [arrow.span(arrow.lastindex or 0)]
    if marks := records.marks(text, begin, end):
        return marks
    bullets = [match.span() for match in _BEFORE_ITEM.finditer(text, begin, end)]
    if len(bullets) > 1 and _are_bullets(text, begin, end, bullets):
        return bullets
    for pattern, least in ((_BETWEEN, 2), (_GREATER, _MIN_LABELS), (_BETWEEN_ITEMS, _MIN_LABELS)):
        spans = [match.span() for match in pattern.finditer(text, begin, end)]
        if len(spans) + 1 < least:
            continue
        found = [span for span in spans if not placeholders().protected_between(*span)]
        if len(found) + 1 >= least and _are_labels(text, begin, end, found):
            return found
    return []


def _are_bullets(text: str, begin: int, end: int, signs: Sequence[Span]) -> bool:
    """Check whether a line begins with one of these signs, or has the same sign between labels."""
    if not text[begin : signs[0][0]].strip():
        return True
    are_same = len({text[first:last].strip() for first, last in signs}) == 1
    return are_same and _are_labels(text, begin, end, signs)


def _are_labels(text: str, begin: int, end: int, separators: Sequence[Span]) -> bool:
    """Check whether everything between separators is a label, in a stretch of a text."""
    edges = [(begin, begin), *separators, (end, end)]
    return all(_is_label(text[left:right]) for (_, left), (right, _) in pairwise(edges))


def _is_label(text: str) -> bool:
    """Check whether a text is short enough for a label, and has no signs of prose."""
    return (
        len(text.split(maxsplit=_MOST_WORDS)) <= _MOST_WORDS
        and len(_WITHOUT_BLANKS.findall(text)) <= _MOST_CHARACTERS
        and _OF_PROSE.search(text) is None
    )

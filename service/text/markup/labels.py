"""Splits runs that consist only of the labels of a path or list, so that none is lost: File → Save, Yes|No.

A path within a sentence is not split. Two words with two dots between them are labels, too: Monday..Friday.
So is a label with an arrow that looks like a quote: Next ».
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from service.text.markup.cells import cut_at
from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from service.text.words import UNSPACED

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
_BETWEEN_ITEMS = re.compile(r"(?<=[^\s,;])[,;](?:(?!\d)|(?<!\d.))(?=[^\s,;])")
MIN_ITEMS = 3
"""Minimum items of a list with commas or semicolons without spaces: red,green,blue."""
_TWO_WORDS = regex.compile(r"\s*+[\p{L}\p{M}]++(\.\.)[\p{L}\p{M}]++\s*+")
_ARROW_AT_EDGE = regex.compile(
    r"""
      \s*+([«‹])(?=[ \u00a0])[^«»‹›]*+(?<!\p{Sentence_Terminal}\s*)
    | [^«»‹›]*+(?<=\w[ \u00a0])([»›])\s*+
    """,
    regex.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(
    rf"[{_ARROWS}«»‹›|<>.,;](?:(?<![<>.,;])|(?<=[,;])[^\s\d]|(?<=<)-|(?<=[-=]>)[ \u00a0]|(?<=\.)\.\w)"
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


def cut(run: Run) -> list[str | Run]:
    """Return labels and separators, in order, or only the run if it is anything else."""
    if run.is_of_words or _MAY_HOLD_ONE.search(run.text) is None:
        return [run]
    if two_words := _TWO_WORDS.fullmatch(run.text):
        return cut_at(run, [two_words.span(1)])
    if arrow := _ARROW_AT_EDGE.fullmatch(run.text):
        return cut_at(run, [arrow.span(arrow.lastindex or 0)])
    separators = _outside_placeholders(run, _BETWEEN.finditer(run.text))
    if _are_labels(run.text, separators):
        return cut_at(run, separators)
    separators = _outside_placeholders(run, _BETWEEN_ITEMS.finditer(run.text))
    is_list = len(separators) + 1 >= MIN_ITEMS and _are_labels(run.text, separators)
    return cut_at(run, separators) if is_list else [run]


def _outside_placeholders(
    run: Run, matches: Iterator[re.Match[str]] | Iterator[regex.Match[str]]
) -> list[tuple[int, int]]:
    """Return the spans of matches, except those in placeholders, such as `a -> b` in backticks."""
    spans = [match.span() for match in matches]
    if not spans:
        return []
    placeholders = Placeholders().prepare(run)
    return [span for span in spans if not placeholders.protected_between(*span)]


def _are_labels(text: str, separators: Sequence[tuple[int, int]]) -> bool:
    """Check whether everything between separators is a label."""
    edges = [(0, 0), *separators, (len(text), len(text))]
    return bool(separators) and all(
        _is_label(text[end:begin]) for (_, end), (begin, _) in pairwise(edges)
    )


def _is_label(text: str) -> bool:
    """Check whether a text is short enough for a label, and has no signs of prose."""
    return (
        len(text.split(maxsplit=_MOST_WORDS)) <= _MOST_WORDS
        and len(_WITHOUT_BLANKS.findall(text)) <= _MOST_CHARACTERS
        and _OF_PROSE.search(text) is None
    )

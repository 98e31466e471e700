"""Runs cut at what stands between the labels of a path, so that these keep their order: File → Save as.

Two dots between words are of this kind, too: Monday..Friday.
"""

import re
from collections.abc import Iterator

import regex

from service.text.markup.cells import cut_at
from service.text.rules.placeholders import Placeholders
from service.text.run import Run

_ARROWS = "\u2190-\u21ff\u2794\u2798-\u27be\u27f0-\u27ff\u2900-\u297f▶▸►"
_TYPED = "<?-{1,3}>|={1,2}>|<-{1,3}"
_LETTER = r"[\p{L}\p{M}]"
_OPENING = {"»": "«", "›": "‹"}
"""Of marks that close a quotation behind a blank in French."""
_BETWEEN = regex.compile(
    rf"""
      (?<=\S)[ \u00a0]++(?:[{_ARROWS}]\ufe0f?|{_TYPED})[ \u00a0]++(?=\S)
    | (?<=\w)[{_ARROWS}](?=\w)
    | (?<=\S)[ \u00a0]++[»›|][ \u00a0]++(?=\S)
    | (?<={_LETTER})\.\.(?={_LETTER})
    """,
    regex.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(
    rf"[{_ARROWS}»›|<>.](?:(?<![<>.])|(?<=<)-|(?<=[-=]>)[ \u00a0]|(?<=\.)\.\w)"
)
"""A quick look, which begins with a set: most texts have nothing of all this."""


def cut(run: Run) -> list[str | Run]:
    """Runs and what is between them, in order; the run alone, if there is nothing of all this in it."""
    if _MAY_HOLD_ONE.search(run.text) is None:
        return [run]
    found = list(_separators(run.text))
    if not found:
        return [run]
    placeholders = Placeholders().prepare(run)  # `a -> b` in backticks
    return cut_at(run, [one for one in found if not placeholders.protected_between(*one)])


def _separators(text: str) -> Iterator[tuple[int, int]]:
    for match in _BETWEEN.finditer(text):
        opening = _OPENING.get(match[0].strip())
        if opening is None or opening not in text:
            yield match.span()

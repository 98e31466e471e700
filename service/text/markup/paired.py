"""Recognizes markers in pairs: `<link>here</link>`, `<0>here</0>`, `[b]here[/b]`, `{{#if new}}here{{/if}}`.

Translators' formats and forums have them. A marker that nothing closes is no tag.
"""

import re
from collections import Counter
from collections.abc import Iterable

from service.text.markup.html_tags import WITHOUT_VALUE
from service.text.markup.nesting import MAX_NESTING, depth
from service.text.rules.pairs import MarkPair, as_tags
from service.text.run import Run

_MARKER = re.compile(
    rf"""
      <(?P<closes_tag>/?)(?P<tag>\w[\w.:-]{{0,30}}+)
      (?:\s++
        (?: [\w:@\#.-]++=(?:"[^"<>]*+"|'[^'<>]*+') | (?:{WITHOUT_VALUE}|[\w:]++-[\w:.-]++)(?=[\s>]) )
      )*+>
    | \[(?P<closes_code>/?)(?P<code>[a-zA-Z]\w{{0,20}}+)(?:=[^\[\]\n]{{1,200}}+)?\]
    | \{{\{{?[ ]?(?P<closes_variable>/?)\#?(?P<variable>[a-zA-Z_][\w.]{{0,30}}+)
      (?:[ ][^{{}}\n]{{0,60}}+)?\}}\}}?
    """,
    re.VERBOSE,
)
_CLOSING = re.compile(r"[<\[{][ ]?/\w")
"""A fast check that rejects most texts."""


def tagged(run: Run) -> Run:
    """Convert such markers to tags, unless they are nested too deeply."""
    if _CLOSING.search(run.text) is None:
        return run
    found = as_tags(run, _pairs(run.between_tags(_MARKER.finditer)))
    return found if depth(found.tags) <= MAX_NESTING // 2 else run


def _pairs(markers: Iterable[re.Match[str]]) -> list[MarkPair]:
    """Return the pairs that nest, in order of their opening markers."""
    found: list[tuple[re.Match[str], re.Match[str]]] = []
    opened: list[tuple[re.Match[str], tuple[str, str]]] = []
    count: Counter[tuple[str, str]] = Counter()
    for marker in markers:
        kind = marker.lastgroup or ""
        name = kind, marker[kind]
        if not marker[f"closes_{kind}"]:
            opened.append((marker, name))
            count[name] += 1
            continue
        while count[name]:  # those within it are not closed
            opening, other = opened.pop()
            count[other] -= 1
            if other == name:
                found.append((opening, marker))
                break
    pairs = sorted(found, key=lambda pair: pair[0].start())
    return [
        ((*opening.span(), opening[0]), (*closing.span(), closing[0])) for opening, closing in pairs
    ]

r"""Recognizes markers in pairs: `<link>here</link>`, `<0>here</0>`, `[b]here[/b]`, `{{#if new}}here{{/if}}`.

Translators' formats and forums have them, LaTeX `\emph{here}`, and reStructuredText `` `here`_ ``. A marker
that nothing closes is no tag.
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
_AROUND_WORDS = re.compile(
    r"""
      (\\(?:(?:sub){0,2}section|chapter|paragraph|title|caption|footnote|emph|underline|text(?:bf|it|sc|tt))\*?\{)
      [^{}\n]*+ (\})
    | (?<![\w`:])(`) [^`<>\n]*[^`<>\s] ((?:[ ]<[^`<>\s]++>)?`__?) (?!\w)
    """,
    re.VERBOSE,
)
_MAY_HOLD_ONE = re.compile(r"\\[a-z]++\*?\{|`_")
"""Fast checks that reject most texts."""


def tagged(run: Run) -> Run:
    """Convert such markers to tags, unless they are nested too deeply."""
    if _MAY_HOLD_ONE.search(run.text):
        run = as_tags(run, [_around(one) for one in run.between_tags(_AROUND_WORDS.finditer)])
    if _CLOSING.search(run.text) is None:
        return run
    found = as_tags(run, _pairs(run.between_tags(_MARKER.finditer)))
    return found if depth(found.tags) <= MAX_NESTING // 2 else run


def _around(match: re.Match[str]) -> MarkPair:
    """Return the two marks of a match, which are the groups that are not None."""
    opening, closing = (index for index, mark in enumerate(match.groups(), 1) if mark)
    return (*match.span(opening), match[opening]), (*match.span(closing), match[closing])


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

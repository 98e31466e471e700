"""Markdown's emphasis in plain text, `**so**`: around the words that translate its words, as tags are."""

import re
from typing import Literal

from service.text import placeholders
from service.text.edits import edited
from service.text.markup import Run, Tag

_EMPHASIS = re.compile(
    r"(?<![\w*~])(?P<mark>\*{1,3}|~~)(?=[^\s*~])[^*~\n]*[^\s*~](?P=mark)(?![\w*~])"
)


def emphasized(text: str) -> Run:
    """A plain text with its asterisks and tildes as tags, where they are pairs around words."""
    found = list(_EMPHASIS.finditer(text))
    if not found:
        return Run(text)
    untouched = placeholders.spans(text)
    marks: list[tuple[int, int, Literal["open", "close"]]] = []
    for match in found:
        (first, opened), last = match.span("mark"), match.end()
        closing = last - (opened - first)
        if not any(placeholders.is_inside(at, untouched) for at in (first, closing)):
            marks += [(first, opened, "open"), (closing, last, "close")]
    run = Run(text, [Tag(first, text[first:last], kind) for first, last, kind in marks])
    return edited(run, [(first, last, "") for first, last, _ in marks])

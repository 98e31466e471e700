"""What stands around words in plain text: Markdown's emphasis, `**so**`, and marks of direction.

In a translation it is around the words that translate them, as tags are.
"""

import re
from typing import Literal

from service.text import placeholders
from service.text.edits import edited
from service.text.markup import Run, Tag

_PAIRS = re.compile(
    r"(?<![\w*~])(?P<mark>\*{1,3}|~~)(?=[^\s*~])[^*~\n]*[^\s*~](?P=mark)(?![\w*~])"
    r"|(?P<isolate>[\u2066-\u2068])[^\u2066-\u2069\n]+\u2069"  # as Fluent does what it fills in
    r"|(?P<embedding>[\u202a\u202b\u202d\u202e])[^\u202a-\u202e\n]+\u202c"
)


def emphasized(text: str) -> Run:
    """A plain text with asterisks, tildes, marks of direction as tags, where they are pairs around words."""
    found = list(_PAIRS.finditer(text))
    if not found:
        return Run(text)
    untouched = placeholders.spans(text)
    marks: list[tuple[int, int, Literal["open", "close"]]] = []
    for match in found:
        (first, opened), last = match.span(match.lastgroup or 0), match.end()
        closing = last - (opened - first)
        if not any(placeholders.is_inside(at, untouched) for at in (first, closing)):
            marks += [(first, opened, "open"), (closing, last, "close")]
    run = Run(text, [Tag(first, text[first:last], kind) for first, last, kind in marks])
    return edited(run, [(first, last, "") for first, last, _ in marks])

"""What stands around words in plain text: Markdown's emphasis, `**so**`, and marks of direction.

In a translation it is around the words that translate them, as tags are.
"""

import re

from service.text.rules.pairs import Pair, as_tags
from service.text.rules.placeholders import Placeholders
from service.text.run import Run

_PAIRS = re.compile(
    r"(?<![\w*~])(?P<mark>\*{1,3}|~~)(?=[^\s*~])[^*~\n]*[^\s*~](?P=mark)(?![\w*~])"
    r"|(?P<isolate>[\u2066-\u2068])[^\u2066-\u2069\n]+\u2069"  # as Fluent does what it fills in
    r"|(?P<embedding>[\u202a\u202b\u202d\u202e])[^\u202a-\u202e\n]+\u202c"
)


def emphasized(text: str) -> Run:
    """A plain text with asterisks, tildes, marks of direction as tags, where they are pairs around words."""
    pairs: list[Pair] = []
    for match in _PAIRS.finditer(text):
        (first, opened), last = match.span(match.lastgroup or 0), match.end()
        closing = last - (opened - first)
        pairs.append(((first, opened, text[first:opened]), (closing, last, text[closing:last])))
    return as_tags(Placeholders().prepare(Run(text)), pairs) if pairs else Run(text)

"""Finds the delimiters and quotes in a line of CSV (RFC 4180): `1,"red, or green",2.50`."""

import re

from service.text.words import Span

_QUOTED = r'"(?:[^"\r\n]|"")*+"'
_FIELD = rf'(?:{_QUOTED}|(?![ "])[^{{0}}"()=\r\n]*+)'  # no prose, no formula
_LINES = {
    re.compile(f"{_FIELD}(?:{{0}}{_FIELD})++".format(delimiter)): re.compile(
        f"{_QUOTED}|{delimiter}"
    )
    for delimiter in ",;"
}
"""A line, and a quoted field or delimiter in it."""
_ESCAPED_QUOTE = re.compile('""')


def marks(text: str, begin: int, end: int) -> list[Span]:
    """Return the delimiters and quotes of a line, in order; none if it has no quotes or is not CSV."""
    if text.find('"', begin, end) < 0:
        return []
    parts = (parts for line, parts in _LINES.items() if line.fullmatch(text, begin, end))
    found: list[Span] = []
    for part in next((pattern.finditer(text, begin, end) for pattern in parts), ()):
        first, last = part.span()
        if part[0][0] == '"':
            escaped = _ESCAPED_QUOTE.finditer(text, first + 1, last - 1)
            found += [(first, first + 1), *(quote.span() for quote in escaped), (last - 1, last)]
        else:
            found.append((first, last))
    return found

"""Recognizes HTML tags in plain text if they certainly are tags; `a<b and c>d` and `List<String>` are not."""

import re
from typing import Literal

from service.text.markup.elements import INLINE, UNTRANSLATED
from service.text.markup.lexer import VOID

_TAG = re.compile(
    r"""
    </?([A-Za-z][A-Za-z0-9]*+)
    (?:\s++[^\s=<>"'/]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>=]++))*+  # attributes have a value
    \s*+/?>
    """,
    re.VERBOSE,
)
_BLOCKS = frozenset(
    """
    br center dd details div dl dt h1 h2 h3 h4 h5 h6 hr li ol p summary table tbody td th thead tr ul
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)


def kind_of(raw: str) -> Literal["text", "open", "close", "void", "block"]:
    """Return the kind of a tag or comment.

    >>> [kind_of(raw) for raw in ("<b>", "</b>", "<br />", "<img src=x>", "<y and y>", "<!-- a -->")]
    ['open', 'close', 'block', 'void', 'text', 'void']
    """
    if raw[1] in "!?":
        return "void"
    name = _name(raw)
    if name in _BLOCKS:
        return "block"
    if name not in INLINE:
        return "text"
    if raw[1] == "/":
        return "close"
    return "void" if raw.endswith("/>") or name in VOID else "open"


def untranslated(raw: str) -> str:
    """Return the name of an element whose text is not translated, or "" for other tags."""
    name = _name(raw)
    return name if name in UNTRANSLATED else ""


def _name(raw: str) -> str:
    match = _TAG.fullmatch(raw)
    return match[1].lower() if match else ""

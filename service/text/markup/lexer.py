"""Splits HTML and XML into tags, text and other tokens, exactly where a browser or an XML parser would.

What a parser reads as the inside of a tag or comment must never become a tag, otherwise a harmless text could
have a harmful translation. So this follows the tokenizer of the HTML standard (section 13.2.5), and does not
assume well-formed documents. For any input, `"".join(token.raw for token in tokens(text)) == text`.

What never ends is text, except a comment of HTML, in which browsers show nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from service.text.markup.undivided import FOREIGN, TAIL, closes_itself, end_of_content, is_undivided

Kind = Literal["html", "xml"]

_NAMES = {"html": r"[A-Za-z][^ \t\n\f\r/>]*+", "xml": r"[A-Za-z_:\u0080-\U0010ffff][^ \t\n\r/><]*+"}
_TAGS = {
    kind: re.compile(f"<(?P<slash>/?)(?P<name>{name})(?P<attributes>{TAIL})>", re.VERBOSE)
    for kind, name in _NAMES.items()
}
_BEGINS = {
    "html": re.compile(r"<(?:/?[A-Za-z]|(?P<other>!--|[!?/]))"),
    "xml": re.compile(
        r"<(?:/?[A-Za-z_:\u0080-\U0010ffff]|(?P<other>!--|!\[CDATA\[|!(?=[A-Za-z])|\?))"
    ),
}
_ENDS = {
    "html": {"!--": re.compile("--!?>")},
    "xml": {
        "!--": re.compile("-->"),
        "![CDATA[": re.compile(r"\]\]>"),
        "?": re.compile(r"\?>"),
    },
}
_DOCTYPE = re.compile(
    r"""
    (?: [^\[>"']++ | "[^"]*+" | '[^']*+' )*+
    (?: \[
        (?: [^\]"'<]++ | "[^"]*+" | '[^']*+'
          | <!--(?:(?!-->).)*+(?:-->|\Z) | <\?(?:(?!\?>).)*+(?:\?>|\Z) | <
        )*+
        \] [ \t\n\r]*+ )?+ >
    """,
    re.VERBOSE | re.DOTALL,
)
"""The rest of an XML document type declaration, with its internal subset; each comment in it is read once."""
_END = re.compile(">")
_WHOLE = {
    ("html", "!--"): re.compile("-?>"),  # an empty comment
    ("html", "?"): re.compile(r"(?:[^<?]|\?(?!>)|<(?![a-zA-Z/!?]))*+\?>"),
    ("xml", "!"): _DOCTYPE,
}
"""The rest of tokens that another pattern cannot find the end of. To a browser, `<?php $a->b ?>` ends at the
first `>`, but what follows is text, and so may be kept with it."""
VOID = frozenset(
    "area base br col embed hr img input link meta source track wbr".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the input."""

    raw: str
    kind: Literal["text", "open", "close", "void", "verbatim"]
    name: str = ""
    attributes: str = ""


def tokens(text: str, kind: Kind) -> Iterator[Token]:
    """Yield tags, text and other tokens; a `<` that begins no token is text."""
    position = 0  # the end of the last token
    while start := _BEGINS[kind].search(text, position):
        token = _other(text, start, kind) if start["other"] else _tag(text, start.start(), kind)
        if token is None:
            break
        if start.start() > position:
            yield Token(text[position : start.start()], "text")
        yield token
        position = start.start() + len(token.raw)
        if (
            kind == "html"
            and token.kind == "open"
            and (content := _inner(text, position, token.name))
        ):
            yield content
            position += len(content.raw)
    if position < len(text):
        yield Token(text[position:], "text")


def _inner(text: str, position: int, name: str) -> Token | None:
    """Return the content of an HTML element that must not be split, or None for other elements.

    If its end is uncertain, this is the rest of the text.
    """
    if not is_undivided(name) or position == len(text):
        return None
    end = end_of_content(text, position, name)
    if end == position or (end is not None and name in ("select", "frameset")):
        return None
    is_text = name == "title" and end is not None
    return Token(text[position:end], "text" if is_text else "verbatim")


def _other(text: str, opening: re.Match[str], kind: Kind) -> Token | None:
    """Return a comment, declaration or instruction, or None if it never ends and so is text."""
    declaration, start = opening["other"], opening.end()
    whole = _WHOLE.get((kind, declaration))
    end = whole.match(text, start) if whole else None
    if end is None and whole is not _DOCTYPE:
        end = _ENDS[kind].get(declaration, _END).search(text, start)
    if end is None and (kind, declaration) == ("html", "!--"):
        return Token(text[opening.start() :], "verbatim")
    return None if end is None else Token(text[opening.start() : end.end()], "verbatim")


def _tag(text: str, start: int, kind: Kind) -> Token | None:
    """Return a tag, or None if it never ends."""
    match = _TAGS[kind].match(text, start)
    if match is None:
        return None
    name = match["name"].lower() if kind == "html" else match["name"]
    if match["slash"]:
        return Token(match[0], "close", name)
    if kind == "html" and name in FOREIGN:
        is_void = closes_itself(match[0])
    else:
        is_void = match["attributes"].endswith("/") or (kind == "html" and name in VOID)
    return Token(match[0], "void" if is_void else "open", name, match["attributes"])

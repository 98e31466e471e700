"""Cuts HTML and XML into tags, text and what is neither, exactly where a browser or an XML parser would.

What one of them takes for the inside of a tag or a comment must never come out as a tag of its own: a text
that did no harm would do some in a translation. So this follows the tokenizer of the HTML standard (section
13.2.5) rather than what well-formed documents look like. Whatever the input,
`"".join(token.raw for token in tokens(text)) == text`. What never ends is text up to the end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["html", "xml"]

# Possessive quantifiers: each character is read once. A quote only counts behind `=`; one that never closes
# lets the tag fail as a whole, as `\Z` is followed by no `>`.
_TAIL = r"""
    (?P<attributes>(?:
        [ \t\n\f\r/]++
      | (?: =[^ \t\n\f\r/>=]*+ | [^ \t\n\f\r/>=]++ )
        (?: [ \t\n\f\r]*+ = [ \t\n\f\r]*+
            (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^ \t\n\f\r>"'][^ \t\n\f\r>]*+ )?+ )?+
    )*+)>
"""
_NAMES = {"html": r"[A-Za-z][^ \t\n\f\r/>]*+", "xml": r"[A-Za-z_:\u0080-\U0010ffff][^ \t\n\r/><]*+"}
_TAGS = {
    kind: re.compile(f"<(?P<slash>/?)(?P<name>{name}){_TAIL}", re.VERBOSE)
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
    (?: \[ (?: [^\]"'<]++ | "[^"]*+" | '[^']*+' | <!--(?:(?!-->).)*+--> | <\?(?:(?!\?>).)*+\?> | < )*+ \]
        [ \t\n\r]*+ )?+ >
    """,
    re.VERBOSE | re.DOTALL,
)
"""Of XML, with what it declares."""
_END = re.compile(">")
_EMPTY_COMMENT = re.compile("-?>")
VOID = frozenset(
    "area base br col embed hr img input link meta source track wbr".split()  # noqa: SIM905
)
_ONLY_TEXT = frozenset(
    "script style textarea title xmp iframe noembed noframes".split()  # noqa: SIM905
)
"""Elements of HTML in which nothing but their own end tag is one."""
_OTHER_RULES = frozenset("svg math noscript select frameset".split())  # noqa: SIM905
"""Elements of HTML within which a browser may read by other rules."""
_END_TAGS = {
    name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE)
    for name in _ONLY_TEXT | _OTHER_RULES
}
_ATTRIBUTES = """(?:[^<>"']++|"[^"<>]*+"|'[^'<>]*+')*+"""
_TEXT_ONLY = "|".join(rf"<{name}\b{_ATTRIBUTES}>[^<]*+</{name}\s*+>" for name in sorted(_ONLY_TEXT))
_UNSURE = "|".join(sorted(_ONLY_TEXT | _OTHER_RULES | {"plaintext"}))
_SIMPLE = re.compile(
    rf"(?:[^<]++|{_TEXT_ONLY}|</?(?!(?:{_UNSURE})\b)[A-Za-z]{_ATTRIBUTES}>)*+", re.IGNORECASE
)
"""What is the same by all of these rules."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the input."""

    raw: str
    kind: Literal["text", "open", "close", "void", "verbatim"]
    name: str = ""
    attributes: str = ""


def tokens(text: str, kind: Kind) -> Iterator[Token]:
    """Tags, text and what is neither; a `<` that begins nothing is text."""
    at = 0  # behind the last token
    while begin := _BEGINS[kind].search(text, at):
        token = _other(text, begin, kind) if begin["other"] else _tag(text, begin.start(), kind)
        if token is None:
            break
        if begin.start() > at:
            yield Token(text[at : begin.start()], "text")
        yield token
        at = begin.start() + len(token.raw)
        if kind == "html" and token.kind == "open" and (inner := _inner(text, at, token.name)):
            yield inner
            at += len(inner.raw)
    if at < len(text):
        yield Token(text[at:], "text")


def _inner(text: str, at: int, name: str) -> Token | None:
    """What an element of HTML holds where that is not to be cut; all up to the end where that is not sure."""
    if name == "plaintext":
        return Token(text[at:], "verbatim") if at < len(text) else None
    if name not in _END_TAGS:
        return None
    end = _END_TAGS[name].search(text, at)
    inner = text[at : end.start()] if end else text[at:]
    is_sure = _SIMPLE.fullmatch(inner) if name in _OTHER_RULES else "<!--" not in inner
    if end is None or not (is_sure or (name in _ONLY_TEXT and name != "script")):
        inner = text[at:]
    elif name in ("select", "frameset"):
        return None
    if not inner:
        return None
    return Token(inner, "text" if name == "title" and end else "verbatim")


def _other(text: str, begin: re.Match[str], kind: Kind) -> Token | None:
    """A comment, declaration or instruction; None if it never ends."""
    what, start = begin["other"], begin.end()
    end = _EMPTY_COMMENT.match(text, start) if (kind, what) == ("html", "!--") else None
    if end is None and (kind, what) == ("xml", "!"):
        end = _DOCTYPE.match(text, start)
    elif end is None:
        end = _ENDS[kind].get(what, _END).search(text, start)
    return None if end is None else Token(text[begin.start() : end.end()], "verbatim")


def _tag(text: str, start: int, kind: Kind) -> Token | None:
    """A tag; None if it never ends."""
    match = _TAGS[kind].match(text, start)
    if match is None:
        return None
    name = match["name"].lower() if kind == "html" else match["name"]
    if match["slash"]:
        return Token(match[0], "close", name)
    is_void = match["attributes"].endswith("/") or (kind == "html" and name in VOID)
    return Token(match[0], "void" if is_void else "open", name, match["attributes"])

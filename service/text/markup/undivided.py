"""HTML elements whose content is not split into tags: scripts, texts without tags, images, formulas.

Where they end follows the HTML standard (of scripts sections 13.2.5.4 to 13.2.5.31, of images and formulas
13.2.6.5). Those that browsers may end at different places, as some run scripts, have no certain end.
"""

import re

TAIL = r"""
    (?:
        [ \t\n\f\r/]++
      | (?: =[^ \t\n\f\r/>=]*+ | [^ \t\n\f\r/>=]++ )
        (?: [ \t\n\f\r]*+ = [ \t\n\f\r]*+
            (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^ \t\n\f\r>"'][^ \t\n\f\r>]*+ )?+ )?+
    )*+
"""
"""The attributes of a tag, up to its `>`.

Each character is read once. A quote only counts after `=`; if it is never closed, no `>` can follow.
"""
_ONLY_TEXT = frozenset(
    "script style textarea title xmp iframe noembed noframes".split()  # noqa: SIM905
)
"""Elements in which only their own end tag is a tag."""
FOREIGN = frozenset(["svg", "math"])
"""Images and formulas."""
_OTHER_RULES = FOREIGN | frozenset(["noscript", "select", "frameset"])
"""Elements whose content a browser may parse by other rules."""
_END_OF_NAME = r"(?=[ \t\n\f\r/>])"
_END_TAGS = {
    name: re.compile(rf"</{name}{_END_OF_NAME}", re.IGNORECASE)
    for name in _ONLY_TEXT | _OTHER_RULES
}
_MARK_OF_SCRIPT = re.compile(
    rf"<!--(?P<empty>-?>)?|(?P<end>-->)|<(?P<slash>/?)script{_END_OF_NAME}", re.IGNORECASE
)
_UNSURE = "|".join(sorted(_ONLY_TEXT | _OTHER_RULES | {"plaintext"}))
_COMMENT = r"<!--(?:-?>|(?:(?!--!?>)[\s\S])*+--!?>)"
_SECTION = r"<!\[CDATA\[(?:[^<>\]]|\](?!\]>))*+\]\]>"
_TEXT = rf"(?:[^<]|<(?![a-zA-Z/!?])|<!--(?:[^<>-]|-(?!-))*+-->|{_SECTION})*+"
"""A text in which comments and sections end before a tag could: the same by all rules."""
_TEXT_ONLY = "|".join(
    rf"<{name}{_END_OF_NAME}{TAIL}>{_TEXT}</{name}\s*+>" for name in sorted(_ONLY_TEXT)
)
_CERTAIN = re.compile(
    rf"""
    (?: [^<]++ | <(?![a-zA-Z/!?]) | {_COMMENT} | {_SECTION} | <\?[^<>]*+> | <!(?!--|\[)[^<>]*+>
      | {_TEXT_ONLY} | </?(?!(?:{_UNSURE})\b)[A-Za-z][^ \t\n\f\r/>]*+{TAIL}>
    )*+
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Content that is the same by all rules."""
_TAG = re.compile(
    rf"<(?P<slash>/?)(?P<name>svg|math){_END_OF_NAME}{TAIL}>", re.IGNORECASE | re.VERBOSE
)


def is_undivided(name: str) -> bool:
    """Check whether the content of an element is one token. Content that never ends is the rest of a text."""
    return name in _END_TAGS or name == "plaintext"


def closes_itself(tag: str) -> bool:
    """Check whether an image or formula has no content. The slash of `<svg x=a/>` is part of the value."""
    return tag.endswith("/>") and (tag[-3] in "\"' \t\n\f\r" or "=" not in tag)


def end_of_content(text: str, position: int, name: str) -> int | None:
    """Return where the content of an undivided element ends that begins at `position`; None if uncertain."""
    if name == "script":
        return _end_of_script(text, position)
    if name in FOREIGN:
        return _end_of_foreign(text, position, name)
    end = _END_TAGS[name].search(text, position) if name in _END_TAGS else None
    if end is None:
        return None
    is_certain = name in _ONLY_TEXT or _CERTAIN.fullmatch(text, position, end.start())
    return end.start() if is_certain else None


def _end_of_script(text: str, position: int) -> int | None:
    """Return where a script ends: in comments, `<script` and `</script` are pairs."""
    is_comment = is_inner = False
    for mark in _MARK_OF_SCRIPT.finditer(text, position):
        if mark["slash"] == "/":
            if not is_inner:
                return mark.start()
            is_inner = False
        elif mark["slash"] == "":
            is_inner = is_comment
        else:
            is_comment = not (mark["end"] or mark["empty"])
            is_inner = is_inner and is_comment
    return None


def _end_of_foreign(text: str, position: int, name: str) -> int | None:
    """Return where an image or formula ends, which may contain others of its kind."""
    depth, certain = 1, _CERTAIN.match(text, position)
    while certain and (tag := _TAG.match(text, certain.end())):
        if tag["name"].lower() != name:
            return None
        if tag["slash"]:
            depth -= 1
            if not depth:
                return tag.start()
        elif not closes_itself(tag[0]):
            depth += 1
        certain = _CERTAIN.match(text, tag.end())
    return None

"""Recognizes HTML tags in plain text if they certainly are tags; `a<b and c>d` and `List<String>` are not."""

import re
from typing import Literal

from service.text.markup.elements import INLINE, READINGS, UNTRANSLATED
from service.text.markup.lexer import VOID

WITHOUT_VALUE = "|".join(
    """
    allowfullscreen async autofocus autoplay checked controls default defer disabled formnovalidate hidden
    inert ismap itemscope loop multiple muted nomodule noshade novalidate nowrap open playsinline readonly
    required reversed selected
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
"""Attributes of HTML that mostly have no value; in other formats, such names have a hyphen: `v-else`."""
_TAG = re.compile(
    rf"""
    </?([A-Za-z][A-Za-z0-9]*+)
    (?:\s++
        (?: [^\s=<>"'/]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>=]++)
          | (?:{WITHOUT_VALUE}|[a-z]++-[\w:.-]++)(?=[\s/>]) ) )*+
    \s*+/?>
    """,
    re.VERBOSE,
)
_BLOCKS = frozenset(
    """
    br center dd details div dl dt h1 h2 h3 h4 h5 h6 hr li ol p summary table tbody td th thead tr ul
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
_MAY_BE_FIELDS = frozenset(["embed", "input", "source", "track"])
"""Elements without content; without attributes, they are more often mentioned in a text."""
_FORMATTING = frozenset(
    """
    b bdi bdo big color em font i ins mark nobr s size small span strike strong sub sup u
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
_LINKS = frozenset(["a", "label", "link", "url"])
_FIRST_NAME = re.compile(r"[^\W_][\w.:-]*+")


def kind_of(raw: str) -> Literal["text", "open", "close", "void", "block"]:
    """Return the kind of a tag or comment.

    >>> [kind_of(raw) for raw in ("<b>", "</b>", "<br />", "<img src=x>", "<y and y>", "<y/>", "<!-- a -->")]
    ['open', 'close', 'block', 'void', 'text', 'void', 'void']
    >>> [kind_of(raw) for raw in ("<input disabled>", "<input or field>", "<input>", "<b v-if>")]
    ['void', 'text', 'text', 'open']
    """
    if raw[1] in "!?":
        return "void"
    name = _name(raw)
    if name in _BLOCKS:
        return "block"
    if name in READINGS:
        return "void"
    if name in _MAY_BE_FIELDS and any(map(str.isspace, raw)):
        return "void"
    if name not in INLINE:
        return "void" if raw.endswith("/>") else "text"
    if raw[1] == "/":
        return "close"
    return "void" if raw.endswith("/>") or name in VOID else "open"


def untranslated(raw: str) -> str:
    """Return the name of an element whose text is not translated, or "" for other tags."""
    name = _name(raw)
    return name if name in UNTRANSLATED or name in READINGS else ""


def is_link_like(opening: str) -> bool:
    """Check whether an element is lost without text: a link, or one that is not known to be formatting.

    >>> [is_link_like(opening) for opening in ('<a href="/">', "[", "<0>", "<b>", "**", "![")]
    [True, True, True, False, False, False]
    """
    name = _FIRST_NAME.search(opening)
    return opening == "[" or (name is not None and name[0].lower() not in _FORMATTING)


def is_link(opening: str) -> bool:
    """Check whether an element is a link, a label or an image of HTML, Markdown or a forum.

    >>> [is_link(opening) for opening in ('<a href="/">', "[", "![", "[url=/]", "<abbr>", "<0>", "**")]
    [True, True, True, True, False, False, False]
    """
    name = _FIRST_NAME.search(opening)
    return opening in ("[", "![") or (name is not None and name[0].lower() in _LINKS)


def is_only_marks(opening: str) -> bool:
    """Check whether an opening mark is not a tag, but a mark that would be read as text around no words.

    >>> [is_only_marks(opening) for opening in ("**", "„", "<b>", "[", "![")]
    [True, True, False, False, False]
    """
    return "[" not in opening and not any(map(str.isalnum, opening))


def _name(raw: str) -> str:
    match = _TAG.fullmatch(raw)
    return match[1].lower() if match else ""

"""Where elements of HTML end whose end tag may be left out: `<li>one<li>two</ul>`.

The rules are those of the HTML standard (section 13.1.2.4).
"""

from collections import Counter
from collections.abc import Sequence, Set

from service.text.markup.lexer import Token

_GROUPS = frozenset(["thead", "tbody", "tfoot"])
_ROWS = _GROUPS | {"tr"}
_CELLS = _ROWS | {"td", "th"}
_AFTER_PARAGRAPHS = frozenset(
    """
    address article aside blockquote dd details dialog div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search section table ul
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
_ENDED_BY: dict[str, frozenset[str]] = {
    "html": frozenset(),
    "body": frozenset(),
    "p": _AFTER_PARAGRAPHS | _CELLS,
    "li": _CELLS | {"li"},
    **dict.fromkeys(["dt", "dd"], _CELLS | {"dt", "dd"}),
    "option": frozenset(["option", "optgroup", "hr"]),
    "optgroup": frozenset(["optgroup", "hr"]),
    **dict.fromkeys(["caption", "colgroup"], _ROWS),
    **dict.fromkeys(["td", "th"], _CELLS),
    "tr": _ROWS,
    **dict.fromkeys(_GROUPS, _GROUPS),
}
"""The tags that end an element, or the one around it, by its name."""
_PARENTS = frozenset(["ul", "ol", "menu", "dl", "select", "table", "button", "object"])
"""Elements within which tags end none around them."""


def may_lack_end(name: str) -> bool:
    """Check whether the end tag of an element may be left out."""
    return name in _ENDED_BY


def end_of_element(stream: Sequence[Token], first: int, inline: Set[str]) -> int:
    """Return the index after an element whose end tag may be left out.

    Args:
        stream: all tokens.
        first: the index of the element's tag.
        inline: names of inline elements, which end no other element with them.
    """
    name = stream[first].name
    opened: list[str] = []
    number = Counter[str]()  # of each name in `opened`
    parents = 0
    for index in range(first + 1, len(stream)):
        token = stream[index]
        if token.name in _ENDED_BY[name] and token.kind != "close" and not parents:
            return index
        if token.kind == "open":
            opened.append(token.name)
            number[token.name] += 1
            parents += token.name in _PARENTS
        elif token.kind == "close" and number[token.name]:
            inner = ""
            while inner != token.name:
                inner = opened.pop()
                number[inner] -= 1
                parents -= inner in _PARENTS
        elif token.kind == "close" and token.name not in inline:
            return index + (token.name == name)
    return len(stream)

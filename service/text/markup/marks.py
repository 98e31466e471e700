"""Recognizes emphasis that is text to Markdown: **Note:**this, **注意：**这, and that of wikis, '''bold'''.

People and models write marks that touch a letter, especially in languages that put no spaces between words.
"""

import re

from service.text.rules.pairs import MarkPair, as_tags
from service.text.run import Run
from service.text.words import TOUCHING

_LONGEST = 300
"""Maximum characters between two marks."""
_MARKED = re.compile(
    rf"(?P<mark>\*\*|~~|__)(?=\S)((?:(?!(?P=mark))[^\n]){{1,{_LONGEST}}}+)(?<=\S)(?P=mark)"
)
_IN_WORD = rf"(?:[^\W{TOUCHING}]|')"
_COLONS = ":："
_APART = re.compile(rf"[\s{TOUCHING}]?")
"""What must be outside one of two marks, unless a colon is inside: otherwise, 2**(n)**k would match."""
_BEFORE_WORDS, _AFTER_WORDS = (
    re.compile(rf"[{TOUCHING}]|[^\w{sign}/\\`*~]|\Z") for sign in (r")\]}", r"(\[{")
)
"""What may be beside the marks around words."""
_TWO_LETTERS = re.compile(rf"[^\W\d_{TOUCHING}]{{2}}")
_OF_WIKIS = re.compile(
    rf"""
    (?<!{_IN_WORD})(?P<mark>'{{2,3}}+)(?![\s'])
    ((?:[^'\n]|'(?!')){{1,{_LONGEST}}}+)
    (?<!\s)(?P=mark)(?!{_IN_WORD})
    """,
    re.VERBOSE,
)


def as_emphasis(run: Run, *, is_unread: bool = False) -> Run:
    """Convert such marks to tags, unless this would join two words.

    If `is_unread`, Markdown has not read the text, as it is in a block of HTML: its usual marks are
    converted, too.
    """
    is_mark = _is_around_words if is_unread else _is_meant
    run = as_tags(
        run, [_pair(match) for match in run.between_tags(_MARKED.finditer) if is_mark(match)]
    )
    if "''" not in run.text:
        return run
    return as_tags(run, [_pair(match) for match in run.between_tags(_OF_WIKIS.finditer)])


def _is_meant(match: re.Match[str]) -> bool:
    """Check whether only a letter beside a mark keeps Markdown from recognizing it."""
    text, inner, (first, last) = match.string, match[2], match.span()
    sides = (inner[0], text[first - 1 : first]), (inner[-1], text[last : last + 1])
    is_touched = any(
        (beside.isalpha() and not within.isalnum()) or (within in _COLONS and beside.isdigit())
        for within, beside in sides
    )
    is_apart = any(within in _COLONS or _APART.fullmatch(beside) for within, beside in sides)
    return (
        is_touched and is_apart and not any(_TWO_LETTERS.fullmatch("".join(side)) for side in sides)
    )


def _is_around_words(match: re.Match[str]) -> bool:
    """Check whether the marks are around words, unlike those of `__init__`, (2)**(n)**(k) and src/**/x."""
    text, inner, (first, last) = match.string, match[2], match.span()
    return (
        match["mark"] != "__"
        and _BEFORE_WORDS.match(text[first - 1 : first]) is not None
        and _AFTER_WORDS.match(text[last : last + 1]) is not None
        and "/" not in (inner[0], inner[-1])
        and any(map(str.isalpha, inner))
    )


def _pair(match: re.Match[str]) -> MarkPair:
    mark, (first, last) = match["mark"], match.span(2)
    return (match.start(), first, mark), (last, match.end(), mark)

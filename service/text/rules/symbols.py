"""Emoji, smileys, arrows, hashtags behind a text, single marks of direction: models lose or change them.

They are lifted out of a text as if they were tags, and alignment finds their places in its translation.
"""

import re
from collections.abc import Callable, Iterator

from service.text.edits import Place, edited, shifted
from service.text.rules.placeholders import HASHTAG, is_inside, spans
from service.text.run import Run, Tag

_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_PICTURE = (  # those in private use are an icon font's
    f"[•{_DIRECTION}\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\ue000-\uf8ff"
    "\U0001f000-\U0001faff\U000f0000-\U0010ffff]"
)
_DIRECTIONS = re.compile(f"[{_DIRECTION}]+")
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_SMILEY = r"(?<!\w)<3(?!\w)|(?<![\w:;=])[:;=]['^o-]?(?:\)++|\(++|[DPp|/\\])(?![\w/])"
_JOINED = "[\u200d\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f]"
_SYMBOL = f"(?:{_PICTURE}|{_KEYCAP}|{_SMILEY}){_JOINED}*"
_SYMBOLS = re.compile(f"{_SYMBOL}(?:[ \t\u00a0]*+{_SYMBOL})*")
_WITH_HASHTAGS = re.compile(f"(?:{_SYMBOL}|{HASHTAG})(?:[ \t\u00a0]*+(?:{_SYMBOL}|{HASHTAG}))*")
_ENDS_LINE = re.compile(r"\s*?(?:\n|\Z)")
_SPACES = " \t\u00a0"


def lifted(run: Run, written: Callable[[str], str] = str) -> Run:
    """A run with its symbols as tags, each with such spaces that the text has one where it needs one.

    Args:
        run: the run.
        written: plain text as the text's format writes it; `<3` is a symbol, too.
    """
    matches = list(run.between_tags(_matches))
    if not matches:
        return run
    untouched = spans(run.text)
    found = [_taken(match) for match in matches if not is_inside(match.start(), untouched)]
    places = [place for place, _, _ in found]
    new = edited(run, places)
    behind = shifted([last for _, last, _ in places], places)
    tags = [(old.at, tag) for old, tag in zip(run.tags, new.tags, strict=True)]
    tags += [
        (first, Tag(at, written(raw), "void"))
        for (_, first, raw), at in zip(found, behind, strict=True)
    ]
    new.tags = [tag for _, tag in sorted(tags, key=lambda one: one[0])]
    return new


def _matches(text: str, first: int, last: int) -> Iterator[re.Match[str]]:
    """Symbols, and at the end of a line hashtags; others are words of their sentence."""
    for match in _WITH_HASHTAGS.finditer(text, first, last):
        if "#" not in match.group() or _ENDS_LINE.match(text, match.end()):
            yield match
        else:
            yield from _SYMBOLS.finditer(text, *match.span())


def _taken(match: re.Match[str]) -> tuple[Place, int, str]:
    """What to take out and to leave in its place, where the symbols were, and what they are."""
    text, symbols, (first, last) = match.string, match.group(), match.span()
    if _DIRECTIONS.fullmatch(symbols):  # they take no room
        return (first, last, ""), first, symbols
    begin, end = first, last
    while begin > match.pos and text[begin - 1] in _SPACES:
        begin -= 1
    while end < match.endpos and text[end] in _SPACES:
        end += 1
    lead, trail = text[begin:first], text[last:end]
    before, behind = text[begin - 1 : begin].strip(), text[end : end + 1].strip()
    if (lead and trail) or not before:
        return (first, end, ""), first, symbols + trail
    if lead:
        if behind.isalnum():
            return (first, last, ""), first, symbols
        return (begin, last, ""), first, lead + symbols
    if behind.isalnum() and (trail or before.isalnum()):  # it stands right behind a word or mark
        return (first, end, " "), first, f"{symbols} "
    return (first, end, ""), first, symbols + trail

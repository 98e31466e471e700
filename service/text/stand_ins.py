"""Tokens, names and numbers that replace protected parts: models copy these, but lose `%1$s`."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from service.text.run import Protected, Run
from service.text.words import TOUCHING

NAMES: tuple[str, ...] = ("Tom", "Boston", "Max", "Emma", "Berlin", "Anna", "Paris", "Peter")
NUMBERS: tuple[str, ...] = ("20", "50", "12", "15", "30")
YEARS: tuple[str, ...] = ("2010", "2012", "1995", "2001")
TIMES: tuple[str, ...] = ("10:15", "11:20", "10:40")
_KINDS = (
    (re.compile(r"%[^a-zA-Z]*(?:hh|h|ll|l|z|j|t)?[diu](?:%%)?|#"), NUMBERS),
    (re.compile(r"[^\w\s]?\d++(?:[.,]\d++)*+[ \u00a0]?[^\d\s]{0,3}"), NUMBERS),
    (re.compile(r"1\d{3}|20\d\d"), YEARS),
    (re.compile(r"\d{1,2}:\d\d"), TIMES),
)
"""Stand-ins for kinds of numbers; the last pattern that matches decides."""

_LETTER = rf"[^\W{TOUCHING}]"
"""A letter that must not touch a name."""
_FOR_PIECES = re.compile(r"X\d+Y")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A token, a name or a number in a sentence, and the protected part that it replaces."""

    name: str
    original: str
    """The protected part as text, or as markup if it has no text."""
    written: str
    """The protected part as it is written in the text's format."""


def joined(run: Run) -> Run:
    """Join adjacent protected parts, unless there is a tag between them."""
    if not run.protected:
        return run
    edges = {tag.at for tag in run.tags}
    found: list[Protected] = []
    for one in run.protected:
        if found and found[-1].end == one.begin and one.begin not in edges:
            before = found.pop()
            raws = run.raw(before), run.raw(one)
            are_text = before.raw is None and one.raw is None
            one = Protected(before.begin, one.end, None if are_text else "".join(raws))
        found.append(one)
    return Run(run.text, run.tags, found, run.format)


def for_model(run: Run, tokens: Sequence[str] = (), avoid: str = "") -> list[StandIn] | None:
    """Choose a stand-in for each protected part: `tokens` if there are any, otherwise names and numbers.

    Return None if there are not enough, or if a name would touch a word. Stand-ins that occur in the text or
    in `avoid` are not used.
    """
    if not run.protected:
        return []
    if tokens:
        unused = [one for one in tokens if one not in run.text and one not in avoid]
        if len(unused) < len(run.protected):
            return None
        return [
            _stand_in(run, one, token) for one, token in zip(run.protected, unused, strict=False)
        ]
    if _any_touches(run):
        return None
    rest = f"{run.unprotected()} {avoid}"
    free = {
        kind: iter([name for name in kind if not _occurs(name, rest)])
        for kind in (NAMES, NUMBERS, YEARS, TIMES)
    }
    found = []
    for one in run.protected:
        name = next(free[_kind(run.raw(one))], None)
        if name is None:
            return None
        found.append(_stand_in(run, one, name))
    return found


def for_pieces(run: Run) -> list[StandIn]:
    """Choose a stand-in for each protected part of a text that no model reads; they may touch words."""
    base = next(base for base in map("X{}Y".format, count()) if base not in run.text)
    return [_stand_in(run, one, f"{base}{number}X") for number, one in enumerate(run.protected)]


def _kind(original: str) -> tuple[str, ...]:
    fitting = [names for pattern, names in _KINDS if pattern.fullmatch(original)]
    return fitting[-1] if fitting else NAMES


def _occurs(name: str, text: str) -> bool:
    """Check whether a text has a name already; the digits of a number may be part of another number."""
    return re.search(_as_word(name), text) is not None if name[0].isdigit() else name in text


def _stand_in(run: Run, one: Protected, name: str) -> StandIn:
    raw, original = run.raw(one), run.text[one.begin : one.end]
    return StandIn(name, raw if one.raw is not None else original, raw)


def _any_touches(run: Run) -> bool:
    """Check whether stand-ins for the protected parts would touch a word or each other."""
    text = run.text
    beside = {text[max(0, one.begin - 1) : one.begin] for one in run.protected}
    beside |= {text[one.end : one.end + 1] for one in run.protected}
    return any(re.match(_LETTER, one) for one in beside) or any(
        one.end == following.begin for one, following in pairwise(run.protected)
    )


def came_through(translation: str, found: Sequence[StandIn]) -> bool:
    """Check that every stand-in occurs exactly once, as a separate word."""
    if not found:
        return True
    names = Counter(_pattern(found).findall(translation))
    return all(names[one.name] == 1 for one in found)


def num_joints(run: Run) -> int:
    """Count the edges of protected parts at which two numbers, or two protected words, touch."""
    begins, ends = {one.begin for one in run.protected}, {one.end for one in run.protected}
    num = 0
    for at in begins | ends:
        both = run.text[max(0, at - 1) : at + 1]
        is_between = at in begins and at in ends
        num += len(both) == 2 and (both.isdigit() or (is_between and both.isalnum()))
    return num


def pieces(text: str, found: Sequence[StandIn]) -> list[str]:
    """Split a text at its stand-ins, which are every second piece."""
    if not found:
        return [text]
    parts, at = [], 0
    for match in _pattern(found).finditer(text):
        parts += [text[at : match.start()], match[0]]
        at = match.end()
    return [*parts, text[at:]]


def put_in(text: str, found: Sequence[StandIn]) -> str:
    """Replace the originals in a text by their stand-ins, each once, if they are separate words."""
    names: dict[str, list[str]] = {}
    for one in reversed(found):
        names.setdefault(one.original, []).append(one.name)
    originals = sorted(names, key=len, reverse=True)  # the longest match wins

    def name(match: re.Match[str]) -> str:
        left = names[match[0]]
        return left.pop() if left else match[0]

    return re.sub("|".join(map(_as_word, originals)), name, text) if found else text


def restored(translation: Run, found: Sequence[StandIn]) -> Run:
    """Replace the stand-ins in a translation by their originals, as protected parts."""
    if not found:
        return translation
    by_name = {one.name: one for one in found}
    pattern = _pattern(found)
    matches = [one for one in pattern.finditer(translation.text) if one[0] in by_name]
    protected = [Protected(*match.span(), by_name[match[0]].written) for match in matches]
    places = [(*match.span(), by_name[match[0]].original) for match in matches]
    return Run(translation.text, translation.tags, protected, translation.format).edited(places)


def _pattern(found: Sequence[StandIn]) -> re.Pattern[str]:
    """Return a pattern that matches any of the stand-ins."""
    if base := _FOR_PIECES.match(found[0].name):
        return re.compile(rf"{base[0]}\d+X")
    return re.compile("|".join(_as_word(one.name) for one in found))


def _as_word(text: str) -> str:
    """Return a pattern that matches a text if it is not part of a longer word or number."""
    before = f"(?<!{_LETTER})" if text[0].isalnum() else ""
    behind = f"(?!{_LETTER})" if text[-1].isalnum() else ""
    return f"{before}{re.escape(text)}{behind}"

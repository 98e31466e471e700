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
"""What stands in for a number; the last kind that fits counts."""

_LETTER = rf"[^\W{TOUCHING}]"
"""A name that touches another is none."""
_FOR_PIECES = re.compile(r"X\d+Y")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A token, a name, or a number for a number, in a sentence, and what it stands for."""

    name: str
    original: str
    """As text; markup, where it has none."""
    written: str
    """As the text's format writes it."""


def joined(run: Run) -> Run:
    """A run in which what is protected and touches, with no tag between, is one."""
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
    """One for everything that is protected: `tokens`, if the model knows such, else names and numbers.

    None where there are not enough, or a name would touch a word; none is in the text, nor in `avoid`.
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
        kind: iter([name for name in kind if not _stands_in(name, rest)])
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
    """One for everything that is protected, for a text that no model sees; they may touch words."""
    base = next(base for base in map("X{}Y".format, count()) if base not in run.text)
    return [_stand_in(run, one, f"{base}{number}X") for number, one in enumerate(run.protected)]


def _kind(original: str) -> tuple[str, ...]:
    fitting = [names for pattern, names in _KINDS if pattern.fullmatch(original)]
    return fitting[-1] if fitting else NAMES


def _stands_in(name: str, text: str) -> bool:
    """Whether a text has a name already; for a number, digits within another are none."""
    return re.search(_apart(name), text) is not None if name[0].isdigit() else name in text


def _stand_in(run: Run, one: Protected, name: str) -> StandIn:
    raw, original = run.raw(one), run.text[one.begin : one.end]
    return StandIn(name, raw if one.raw is not None else original, raw)


def _any_touches(run: Run) -> bool:
    """Whether names in these places would run into a word, or into one another."""
    text = run.text
    beside = {text[max(0, one.begin - 1) : one.begin] for one in run.protected}
    beside |= {text[one.end : one.end + 1] for one in run.protected}
    return any(re.match(_LETTER, one) for one in beside) or any(
        one.end == following.begin for one, following in pairwise(run.protected)
    )


def came_through(translation: str, found: Sequence[StandIn]) -> bool:
    """Whether every stand-in is there exactly once, as a word of its own."""
    if not found:
        return True
    names = Counter(_pattern(found).findall(translation))
    return all(names[one.name] == 1 for one in found)


def num_joints(run: Run) -> int:
    """How often what is protected runs into what is beside it, so that two words or numbers are one."""
    begins, ends = {one.begin for one in run.protected}, {one.end for one in run.protected}
    num = 0
    for at in begins | ends:
        both = run.text[max(0, at - 1) : at + 1]
        is_between = at in begins and at in ends
        num += len(both) == 2 and (both.isdigit() or (is_between and both.isalnum()))
    return num


def pieces(text: str, found: Sequence[StandIn]) -> list[str]:
    """What is before the first stand-in, it, what is before the next, and so on to the end."""
    if not found:
        return [text]
    parts, at = [], 0
    for match in _pattern(found).finditer(text):
        parts += [text[at : match.start()], match[0]]
        at = match.end()
    return [*parts, text[at:]]


def put_in(text: str, found: Sequence[StandIn]) -> str:
    """A text with stand-ins where what they stand for is in it, as a word of its own and each once."""
    names: dict[str, list[str]] = {}
    for one in reversed(found):
        names.setdefault(one.original, []).append(one.name)
    originals = sorted(names, key=len, reverse=True)  # of two that begin alike, the longer

    def name(match: re.Match[str]) -> str:
        left = names[match[0]]
        return left.pop() if left else match[0]

    return re.sub("|".join(map(_apart, originals)), name, text) if found else text


def restored(translation: Run, found: Sequence[StandIn]) -> Run:
    """A translation with what the stand-ins stand for, protected, in their places."""
    if not found:
        return translation
    by_name = {one.name: one for one in found}
    pattern = _pattern(found)
    matches = [one for one in pattern.finditer(translation.text) if one[0] in by_name]
    protected = [Protected(*match.span(), by_name[match[0]].written) for match in matches]
    places = [(*match.span(), by_name[match[0]].original) for match in matches]
    return Run(translation.text, translation.tags, protected, translation.format).edited(places)


def _pattern(found: Sequence[StandIn]) -> re.Pattern[str]:
    """Any of them."""
    if base := _FOR_PIECES.match(found[0].name):
        return re.compile(rf"{base[0]}\d+X")
    return re.compile("|".join(_apart(one.name) for one in found))


def _apart(text: str) -> str:
    """A pattern of a text where no letter or digit of it touches another."""
    before = f"(?<!{_LETTER})" if text[0].isalnum() else ""
    behind = f"(?!{_LETTER})" if text[-1].isalnum() else ""
    return f"{before}{re.escape(text)}{behind}"

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
    (re.compile(r"%[^a-zA-Z]*(?:hh|h|ll|l|z|j|t)?[diu](?:%%)?|#"), NUMBERS),  # %d, %5lu, %d%%, #
    (re.compile(r"[^\w\s]?\d++(?:[.,]\d++)*+[ \u00a0]?[^\d\s]{0,3}"), NUMBERS),  # 5, $1.50, 20 km
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
    groups: list[list[Protected]] = []
    for part in run.protected:
        if groups and groups[-1][-1].end == part.begin and part.begin not in edges:
            groups[-1].append(part)
        else:
            groups.append([part])
    return Run(run.text, run.tags, [_as_one(run, group) for group in groups], run.format)


def _as_one(run: Run, parts: Sequence[Protected]) -> Protected:
    """Return one protected part instead of adjacent ones."""
    if len(parts) == 1:
        return parts[0]
    are_text = all(part.raw is None for part in parts)
    raw = None if are_text else "".join(map(run.raw, parts))
    return Protected(parts[0].begin, parts[-1].end, raw)


def for_model(run: Run, tokens: Sequence[str] = (), avoid: str = "") -> list[StandIn] | None:
    """Choose a stand-in for each protected part: `tokens` if there are any, otherwise names and numbers.

    Return None if there are not enough, or if a name would touch a word. Stand-ins that occur in the text or
    in `avoid` are not used.
    """
    if not run.protected:
        return []
    if tokens:
        unused = [token for token in tokens if token not in run.text and token not in avoid]
        if len(unused) < len(run.protected):
            return None
        return [
            _stand_in(run, part, token) for part, token in zip(run.protected, unused, strict=False)
        ]
    if _any_touches(run):
        return None
    other_text = f"{run.unprotected()} {avoid}"
    unused_names = {
        kind: iter([name for name in kind if not _occurs(name, other_text)])
        for kind in (NAMES, NUMBERS, YEARS, TIMES)
    }
    stand_ins = []
    for part in run.protected:
        name = next(unused_names[_kind(run.raw(part))], None)
        if name is None:
            return None
        stand_ins.append(_stand_in(run, part, name))
    return stand_ins


def for_pieces(run: Run) -> list[StandIn]:
    """Choose a stand-in for each protected part of a text that no model reads; they may touch words."""
    base = next(base for base in map("X{}Y".format, count()) if base not in run.text)
    return [_stand_in(run, part, f"{base}{number}X") for number, part in enumerate(run.protected)]


def _kind(original: str) -> tuple[str, ...]:
    fitting = [names for pattern, names in _KINDS if pattern.fullmatch(original)]
    return fitting[-1] if fitting else NAMES


def _occurs(name: str, text: str) -> bool:
    """Check whether a text has a name already; the digits of a number may be part of another number."""
    return re.search(_as_word(name), text) is not None if name[0].isdigit() else name in text


def _stand_in(run: Run, part: Protected, name: str) -> StandIn:
    raw, original = run.raw(part), run.text[part.begin : part.end]
    return StandIn(name, raw if part.raw is not None else original, raw)


def _any_touches(run: Run) -> bool:
    """Check whether stand-ins for the protected parts would touch a word or each other."""
    text = run.text
    neighbours = {text[max(0, part.begin - 1) : part.begin] for part in run.protected}
    neighbours |= {text[part.end : part.end + 1] for part in run.protected}
    return any(re.match(_LETTER, neighbour) for neighbour in neighbours) or any(
        part.end == next_part.begin for part, next_part in pairwise(run.protected)
    )


def came_through(translation: str, stand_ins: Sequence[StandIn]) -> bool:
    """Check that every stand-in occurs exactly once, as a separate word."""
    if not stand_ins:
        return True
    names = Counter(_pattern(stand_ins).findall(translation))
    return all(names[stand_in.name] == 1 for stand_in in stand_ins)


def num_joints(run: Run) -> int:
    """Count the edges of protected parts at which two numbers, or two protected words, touch."""
    begins, ends = {part.begin for part in run.protected}, {part.end for part in run.protected}
    num = 0
    for position in begins | ends:
        around = run.text[max(0, position - 1) : position + 1]
        is_between = position in begins and position in ends
        num += len(around) == 2 and (around.isdigit() or (is_between and around.isalnum()))
    return num


def pieces(text: str, stand_ins: Sequence[StandIn]) -> list[str]:
    """Split a text at its stand-ins, which are every second piece."""
    if not stand_ins:
        return [text]
    parts, position = [], 0
    for match in _pattern(stand_ins).finditer(text):
        parts += [text[position : match.start()], match[0]]
        position = match.end()
    return [*parts, text[position:]]


def put_in(text: str, stand_ins: Sequence[StandIn]) -> str:
    """Replace the originals in a text by their stand-ins, each once, if they are separate words."""
    names: dict[str, list[str]] = {}
    for stand_in in reversed(stand_ins):
        names.setdefault(stand_in.original, []).append(stand_in.name)
    originals = sorted(names, key=len, reverse=True)  # the longest match wins

    def name(match: re.Match[str]) -> str:
        unused = names[match[0]]
        return unused.pop() if unused else match[0]

    return re.sub("|".join(map(_as_word, originals)), name, text) if stand_ins else text


def restored(translation: Run, stand_ins: Sequence[StandIn]) -> Run:
    """Replace the stand-ins in a translation by their originals, as protected parts."""
    if not stand_ins:
        return translation
    by_name = {stand_in.name: stand_in for stand_in in stand_ins}
    pattern = _pattern(stand_ins)
    matches = [match for match in pattern.finditer(translation.text) if match[0] in by_name]
    protected = [Protected(*match.span(), by_name[match[0]].written) for match in matches]
    places = [(*match.span(), by_name[match[0]].original) for match in matches]
    return Run(translation.text, translation.tags, protected, translation.format).edited(places)


def _pattern(stand_ins: Sequence[StandIn]) -> re.Pattern[str]:
    """Return a pattern that matches any of the stand-ins."""
    if base := _FOR_PIECES.match(stand_ins[0].name):
        return re.compile(rf"{base[0]}\d+X")
    return re.compile("|".join(_as_word(stand_in.name) for stand_in in stand_ins))


def _as_word(text: str) -> str:
    """Return a pattern that matches a text if it is not part of a longer word or number."""
    lookbehind = f"(?<!{_LETTER})" if text[0].isalnum() else ""
    lookahead = f"(?!{_LETTER})" if text[-1].isalnum() else ""
    return f"{lookbehind}{re.escape(text)}{lookahead}"

"""Tokens, names and numbers that replace protected parts: models copy these, but lose `%1$s`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from service.text.run import Protected, Run, replaced
from service.text.words import TOUCHING, any_of

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

_LETTER = re.compile(rf"[^\W{TOUCHING}]")
"""A letter or digit that must not touch a name."""
_ANY_NAME = re.compile(
    rf"(?<!{_LETTER.pattern})(?:{any_of([*NAMES, *NUMBERS, *YEARS, *TIMES])})(?!{_LETTER.pattern})"
    r"|<\w{1,20}>"  # a token
)
_BASE = re.compile(r"X\d+Y")
"""How stand-ins for pieces begin."""


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
    words = set(_ANY_NAME.findall(other_text))
    unused_names = {
        # the digits of a number may be part of another number
        kind: iter([one for one in kind if one not in (words if one[0].isdigit() else other_text)])
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
    taken = set(_BASE.findall(run.text))
    base = next(base for base in map("X{}Y".format, count()) if base not in taken)
    return [_stand_in(run, part, f"{base}{number}X") for number, part in enumerate(run.protected)]


def _kind(original: str) -> tuple[str, ...]:
    fitting = [names for pattern, names in _KINDS if pattern.fullmatch(original)]
    return fitting[-1] if fitting else NAMES


def _stand_in(run: Run, part: Protected, name: str) -> StandIn:
    raw, original = run.raw(part), run.text[part.begin : part.end]
    return StandIn(name, raw if part.raw is not None else original, raw)


def _any_touches(run: Run) -> bool:
    """Check whether stand-ins for the protected parts would touch a word or each other."""
    text = run.text
    neighbours = {text[max(0, part.begin - 1) : part.begin] for part in run.protected}
    neighbours |= {text[part.end : part.end + 1] for part in run.protected}
    return any(map(_LETTER.match, neighbours)) or any(
        part.end == next_part.begin for part, next_part in pairwise(run.protected)
    )


def came_through(translation: str, stand_ins: Sequence[StandIn]) -> bool:
    """Check that every stand-in occurs exactly once, as a separate word."""
    names = Counter(match[0] for match in _occurrences(translation, stand_ins))
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
    parts, position = [], 0
    for match in _occurrences(text, stand_ins):
        parts += [text[position : match.start()], match[0]]
        position = match.end()
    return [*parts, text[position:]]


def put_in(text: str, stand_ins: Sequence[StandIn]) -> str:
    """Replace the originals in a text by their stand-ins, each once, if they are separate words."""
    names: dict[str, list[str]] = {}
    for stand_in in reversed(stand_ins):
        if stand_in.original in text:
            names.setdefault(stand_in.original, []).append(stand_in.name)
    found = [
        (begin, -len(original), original) for original in names for begin in _words(text, original)
    ]
    places, position = [], 0
    for begin, length, original in sorted(found):  # the longest one wins
        if begin >= position and names[original]:
            position = begin - length
            places.append((begin, position, names[original].pop()))
    return replaced(text, places)


def _words(text: str, original: str) -> Iterator[int]:
    """Yield the places of an original in a text where it is not part of a longer word or number."""
    end, begin = 0, text.find(original)
    while begin >= 0:
        end = begin + len(original)
        touched_before = original[0].isalnum() and _LETTER.match(text[max(0, begin - 1) : begin])
        touched_behind = original[-1].isalnum() and _LETTER.match(text[end : end + 1])
        if not (touched_before or touched_behind):
            yield begin
        begin = text.find(original, end)


def restored(translation: Run, stand_ins: Sequence[StandIn]) -> Run:
    """Replace the stand-ins in a translation by their originals, as protected parts."""
    if not stand_ins:
        return translation
    by_name = {stand_in.name: stand_in for stand_in in stand_ins}
    matches = list(_occurrences(translation.text, stand_ins))
    protected = [Protected(*match.span(), by_name[match[0]].written) for match in matches]
    places = [(*match.span(), by_name[match[0]].original) for match in matches]
    return Run(translation.text, translation.tags, protected, translation.format).edited(places)


def _occurrences(text: str, stand_ins: Sequence[StandIn]) -> Iterator[re.Match[str]]:
    """Yield the places of stand-ins in a text, in order."""
    if stand_ins:
        names = {stand_in.name for stand_in in stand_ins}
        base = _BASE.match(stand_ins[0].name)
        pattern = re.compile(rf"{base[0]}\d+X") if base else _ANY_NAME
        yield from (match for match in pattern.finditer(text) if match[0] in names)

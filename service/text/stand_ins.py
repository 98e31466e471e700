"""Tokens, capitals, figures and names that replace protected parts: models copy these, but lose `%1$s`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, islice

from service.text.languages import Language
from service.text.run import Protected, Run, replaced
from service.text.words import TOUCHING, any_of

Kind = tuple[str, ...]
"""Stand-ins of a kind, in the order in which they are used."""
NAMES: Kind = ("Tom", "Boston", "Max", "Emma", "Berlin", "Anna", "Paris", "Peter")
CAPITALS: Kind = ("QVJ", "WRF", "JLD", "GFQ", "VDL", "RJQ", "FLV", "LDG", "DVJ", "GRJ")
CODES: Kind = ("QV7", "WR4", "JF9", "GD3", "VL8", "RJ6", "FQ2", "LW5", "DV9", "GR7")
"""As in `CAPITALS`, no letter looks like one of another script, in which a model might write it."""
FIGURES: Kind = ("426", "265", "748", "938", "378", "859", "597", "687", "569", "976")
"""No year, no round number, and none that a language writes in words or counts like one or a few things."""
KINDS_BY_NAME: dict[str, Kind] = {
    "capitals": CAPITALS,
    "figures": FIGURES,
    "codes": CODES,
    "names": NAMES,
}
"""The kinds that a manifest may name, best first for a target language in Latin script."""
_FOR_OTHER_SCRIPTS = ("figures", "capitals", "codes")
"""In another script, models write names, and may write other letters."""
NUMBERS: Kind = ("20", "50", "12", "15", "30", "40", "25", "60", "18", "35")
YEARS: Kind = ("2010", "2012", "1995", "2001")
TIMES: Kind = ("10:15", "11:20", "10:40")
_OF_NUMBERS = (
    # 5, $1.50, 20 km, but not {0} or %1$s
    (re.compile(r"(?!%\d+\$)[^\w\s{\[#]?\d++(?:[.,]\d++)*+[ \u00a0]?[^\d\s]{0,3}"), NUMBERS),
    (re.compile(r"1\d{3}|20\d\d"), YEARS),
    (re.compile(r"\d{1,2}:\d\d"), TIMES),
)
"""Stand-ins for numbers; the last pattern that matches decides."""
_CONVERSION = re.compile(r"%[^a-zA-Z]*(?:hh|h|ll|l|z|j|t)?[diu](?:%%)?|#")
"""A conversion of a number: %d, %5lu, %d%%; # in messages of ICU."""
_COUNTS = re.compile(
    r"n|no|nr|num|numbers?|counts?|min|max|total|sum|limit|amount|size|length|width|height|index|quantity"
    r"|percent(?:age)?|pages?|days?|hours?|minutes?|seconds?|years?",
    re.IGNORECASE,
)
"""Words with which the name of a placeholder for a number begins or ends."""
_VARIABLE = re.compile(r"[{%$\#\[][^/@]{1,40}+")
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
"""A word in a name such as maxSize, MAX_SIZE."""

_LETTER = re.compile(rf"[^\W{TOUCHING}]")
"""A letter or digit that must not touch a stand-in."""
_ENDING = re.compile(rf"['’]?(?:(?!\d){_LETTER.pattern}){{1,3}}(?![\w-])")
"""An ending of a word: {{name}}s, {{name}}'s, {{n}}th."""
_WITHIN_NUMBERS = (".", ",", ":")
_ANY = re.compile(
    rf"(?<!\d)(?<!\d[.,:])(?:{any_of([*FIGURES, *NUMBERS, *YEARS, *TIMES])})(?!\d|[.,:]\d)"
    rf"|{any_of([*NAMES, *CODES, *CAPITALS])}"
    r"|<\w{1,20}>"  # a token
)
_DIGITS = re.compile(r"\d+")
_BASE = re.compile(r"X\d+Y")
"""How stand-ins for pieces begin."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A token, capitals, a figure or a name in a sentence, and the protected part that it replaces."""

    name: str
    original: str
    """The protected part as text, or as markup if it has no text."""
    written: str
    """The protected part as it is written in the text's format."""
    is_joined: bool = False
    """Whether it touches a letter, as it then may in the translation, too."""


def names_of_kinds(target: Language) -> list[str]:
    """Return the names of the kinds that replace placeholders by default, best first."""
    return list(KINDS_BY_NAME if target.script == "Latn" else _FOR_OTHER_SCRIPTS)


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


def for_model(
    run: Run, kinds: Sequence[Kind], avoid: str = "", attempt: int = 0
) -> list[StandIn] | None:
    """Choose a stand-in for each protected part, of the first of these kinds that suits it; see `_suiting`.

    Return None if there are not enough. Stand-ins that occur in the text or in `avoid` are not used. Another
    attempt uses the next kind.
    """
    if not run.protected:
        return []
    other_text = f"{run.text} {avoid}"
    numbers = set(_DIGITS.findall(f"{run.unprotected()} {avoid}"))

    @cache
    def unused(kind: Kind) -> Iterator[str]:
        # the digits of a number may be part of another number
        return (one for one in kind if one not in (numbers if one.isdecimal() else other_text))

    stand_ins = []
    begins, ends = {part.begin for part in run.protected}, {part.end for part in run.protected}
    for part in run.protected:
        if part.begin in ends or part.end in begins:
            order = [kind for kind in kinds if _is_of_tokens(kind)]
        else:
            is_marked = part.begin - 1 in ends or part.end + 1 in begins
            order = _suiting(run, part, kinds, is_marked)
        if attempt and not _is_number(run.raw(part)):
            order = [*order[attempt:], *order[:attempt]]
        name = next((name for kind in order for name in islice(unused(kind), 1)), None)
        if name is None:
            return None
        stand_ins.append(_stand_in(run, part, name))
    return stand_ins


def for_pieces(run: Run) -> list[StandIn]:
    """Choose a stand-in for each protected part of a text that no model reads; they may touch words."""
    taken = set(_BASE.findall(run.text))
    base = next(base for base in map("X{}Y".format, count()) if base not in taken)
    return [_stand_in(run, part, f"{base}{number}X") for number, part in enumerate(run.protected)]


def _suiting(run: Run, part: Protected, kinds: Sequence[Kind], is_marked: bool) -> list[Kind]:
    """Return the kinds for a protected part that does not touch another one, best first.

    Figures replace numbers. Beside letters, a name takes an ending (Toms, Tom's), and a figure any word
    (20px). Only a token may touch a digit; it needs a name or figure only for an ending. `is_marked` is
    whether one character, perhaps a mark, is between the part and another one.
    """
    text, original = run.text, run.raw(part)
    before, behind = text[max(0, part.begin - 2) : part.begin], text[part.end : part.end + 2]
    if before[-1:].isdigit() or behind[:1].isdigit():
        return [kind for kind in kinds if _is_of_tokens(kind)]
    is_number, number = _is_number(original), _kind_of_number(original)
    is_behind_letter = _LETTER.match(before[-1:]) is not None
    is_long = part.end - part.begin > 1  # of one character are signs: 5 µm
    has_ending = is_long and not is_behind_letter and _ENDING.match(text, part.end) is not None
    touches = is_behind_letter or _LETTER.match(behind[:1]) is not None
    first: list[Kind] = []
    if _is_of_tokens(kinds[0]) and (is_number or not has_ending):
        pass
    elif number:  # a model may take 20er for a decade
        first = [FIGURES] if touches and not is_number else [number, FIGURES]
    elif has_ending and NAMES in kinds:
        first = [NAMES]
    elif touches:
        first = [FIGURES]
    order = list(dict.fromkeys([*first, *kinds]))
    is_in_number = any(map(str.isdigit, before + behind)) or (
        is_marked and (before[-1:] in _WITHIN_NUMBERS or behind[:1] in _WITHIN_NUMBERS)
    )
    if is_in_number and not is_number:  # a model would read one number, such as 20:50
        order = [kind for kind in order if not kind[0][0].isdigit()]
    return order


def _is_of_tokens(kind: Kind) -> bool:
    return kind[0].startswith("<")


def _is_number(original: str) -> bool:
    return any(pattern.fullmatch(original) for pattern, _ in _OF_NUMBERS)


def _kind_of_number(original: str) -> Kind | None:
    """Return the kind for a number, or for a placeholder that stands for one; None for anything else."""
    fitting = [kind for pattern, kind in _OF_NUMBERS if pattern.fullmatch(original)]
    if fitting:
        return fitting[-1]
    words = _WORD_OF_NAME.findall(original) if _VARIABLE.fullmatch(original) else []
    is_count = any(map(_COUNTS.fullmatch, words[:1] + words[-1:]))
    return NUMBERS if is_count or _CONVERSION.fullmatch(original) else None


def _stand_in(run: Run, part: Protected, name: str) -> StandIn:
    raw, text = run.raw(part), run.text
    original = text[part.begin : part.end]
    around = text[max(0, part.begin - 1) : part.begin], text[part.end : part.end + 1]
    is_joined = any(map(_LETTER.match, around)) or _ENDING.match(text, part.end) is not None
    return StandIn(name, raw if part.raw is not None else original, raw, is_joined)


def came_through(translation: str, stand_ins: Sequence[StandIn]) -> bool:
    """Check that every stand-in occurs exactly once, as a separate word unless it was joined to one."""
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
    if not stand_ins:
        return
    by_name = {stand_in.name: stand_in for stand_in in stand_ins}
    base = _BASE.match(stand_ins[0].name)
    for match in (re.compile(rf"{base[0]}\d+X") if base else _ANY).finditer(text):
        stand_in = by_name.get(match[0])
        if stand_in and (base or stand_in.is_joined or not _is_part_of_word(match)):
            yield match


def _is_part_of_word(match: re.Match[str]) -> bool:
    """Check whether a match touches a letter, as only tokens may."""
    text, (begin, end) = match.string, match.span()
    if text[begin] == "<":
        return False
    return any(map(_LETTER.match, (text[max(0, begin - 1) : begin], text[end : end + 1])))

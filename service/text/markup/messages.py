"""Splits ICU messages, `{count, plural, one {# file} other {# files}}`: only their words are translated.

The words around an argument with branches are moved into its branches, as ICU advises: a model translates
whole sentences. Anything that is not valid is plain text. As in ICU, an apostrophe before a brace quotes the
text up to the next apostrophe.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from service.errors import quoted
from service.text.markup.nesting import close_tags, outermost
from service.text.run import PROTECTED, Protected, Run, Tag, replaced
from service.text.segmenter import has_letter

_ARGUMENT = re.compile(
    r"""
    \{ \s*+ [\w.-]++ \s*+ ,                               # {count,
    \s*+ (?P<kind>plural|selectordinal|select) \s*+ ,     # plural,
    (?: \s*+ offset:\d++ )?+
    """,
    re.VERBOSE,
)
_SELECTOR = re.compile(r"\s*+(?:=\d++|[\w-]++)\s*+\{")
_QUOTED = r"''|'(?=[{}#|])(?:[^']++|'')*+(?:'|\Z)"
"""An apostrophe, or quoted text, in which braces and `#` have no meaning."""
_MARK = re.compile(rf"{_QUOTED}|[{{}}]")
_MARK_OUTSIDE = re.compile(r"''|'(?=[{}])(?:[^']++|'')*+(?:'|\Z)|[{}]")
"""The same outside of plurals, where an apostrophe before `#` quotes nothing."""
_NUMBER = re.compile(rf"{_QUOTED}|(?P<number>#)")
_KEY = re.compile(r"=|:\s")
"""A sign between the key of a message and its text, as in YAML; a key must not move into the branches."""
MAX_NESTING = 10
"""Maximum depth of nested arguments that are split."""
MAX_GROWTH = 8
"""How many times as long as a sentence its copies, one for each branch, may be in all."""


@dataclass(frozen=True, slots=True)
class Message:
    """A text to translate."""

    text: str
    """With `PROTECTED` in place of each of `protected`."""
    protected: tuple[str, ...] = ()
    """The parts that are preserved unchanged, in order."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text is."""

    depth: int = 0
    """The number of arguments in whose branches it is."""
    is_plural: bool = False
    """Whether it is in a plural, in which `#` is its number."""
    growth: float = MAX_GROWTH
    """How many times as long as the text its copies may be."""


OUTSIDE = Place()
"""The place of a text that is in no argument."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A text of a message that is to be split on its own: a branch, or text beside an argument."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument with branches."""

    syntax: Sequence[str]
    """The text before, between and after the branches."""
    branches: Sequence[str]
    """The texts between the syntax."""
    is_plural: bool

    @classmethod
    def of(cls, text: str) -> "_Argument | None":
        """Read a text, or return None if it is anything but such an argument."""
        opening = _ARGUMENT.match(text)
        edges = _edges(text, opening, _ends(text)) if opening else []
        if opening is None or edges[-1:] != [len(text)]:
            return None
        stretches = [text[begin:end] for begin, end in zip([0, *edges[:-1]], edges, strict=True)]
        return cls(stretches[::2], stretches[1::2], opening["kind"] != "select")

    def pieces(self, texts: Sequence[str], place: Place) -> list[str | Branch]:
        """Return the argument with these texts in its branches."""
        branches = [Branch(text, place) for text in texts]
        pairs = zip(self.syntax, branches, strict=False)
        return [*(piece for pair in pairs for piece in pair), self.syntax[-1]]


def masked(text: str, place: Place) -> Message | None:
    """Return a text in which arguments with branches, literals and, in a plural, `#` are protected.

    None if the text is in no argument and has none.
    """
    arguments = [] if PROTECTED in text else list(_arguments(text))
    if PROTECTED in text or not (arguments or place.depth):
        return None
    parts: list[str] = []
    protected: list[str] = []
    position = 0
    for first, last in [*arguments, (len(text), len(text))]:
        for mark in _NUMBER.finditer(text, position, first):
            if (place.is_plural and mark["number"]) or _is_literal(mark[0]):
                parts += [text[position : mark.start()], PROTECTED]
                protected.append(mark[0])
                position = mark.end()
        parts.append(text[position:first])
        if first < last:
            parts.append(PROTECTED)
            protected.append(text[first:last])
        position = last
    return Message("".join(parts), tuple(protected))


def cut(segment: Run, place: Place) -> list[str | Branch] | None:
    """Return the parts of a segment with an argument, or None if no branches are to be translated.

    If possible, these are the branches of the first argument, each with the words around it. Otherwise, an
    argument with words on one side only is separated from them, and one between words is preserved.
    """
    found = with_branches(segment)
    if not found or place.depth >= MAX_NESTING:
        return None
    words = _words(segment)
    if words and (pieces := _around_first(segment, found, place)):
        return pieces
    return _at_edges(segment, found, words, place)


def with_branches(segment: Run) -> list[tuple[Protected, _Argument]]:
    """Return the protected arguments of a segment whose branches have words."""
    return [
        (part, argument)
        for part in segment.protected
        if part.raw is not None
        and (argument := _Argument.of(part.raw))
        and any(map(has_letter, argument.branches))
    ]


def problem(sentence: Run) -> str:
    """Tell which branches in a sentence remain untranslated; "" if none do."""
    for part, _ in with_branches(sentence):
        return (
            f"the branches of {quoted(part.raw)} are not translated: write whole sentences in them"
        )
    return ""


def _words(segment: Run) -> list[int]:
    """Return the places of the first and the last letter that are not protected, if there are any."""
    gaps = [(part.begin, part.end, " " * (part.end - part.begin)) for part in segment.protected]
    places = [
        at for at, character in enumerate(replaced(segment.text, gaps)) if character.isalpha()
    ]
    return [places[0], places[-1]] if places else []


def _at_edges(
    segment: Run, found: Sequence[tuple[Protected, _Argument]], words: Sequence[int], place: Place
) -> list[str | Branch] | None:
    """Return the arguments that are not between words, and what is between them; None without any."""
    inner, position = replace(place, depth=place.depth + 1), 0
    pieces: list[str | Branch] = []
    gaps: list[str] = []
    for part, argument in found:
        if words and words[0] < part.begin and part.end <= words[-1]:
            continue
        gaps.append(segment.written_between(position, part.begin))
        is_plural = place.is_plural or argument.is_plural
        pieces.append(Branch(gaps[-1], inner))
        pieces += argument.pieces(argument.branches, replace(inner, is_plural=is_plural))
        position = part.end
    gaps.append(segment.written_between(position, len(segment.text)))
    if not pieces or not all(_is_balanced(_MARK.findall(gap)) for gap in gaps):
        return None
    return [*pieces, Branch(gaps[-1], inner)]


def _around_first(
    segment: Run, found: Sequence[tuple[Protected, _Argument]], place: Place
) -> list[str | Branch] | None:
    """Return the first argument with the rest of the segment in its branches, or None if it must not move."""
    part, argument = found[0]
    tags_before, inner_tags, tags_after = outermost(segment.tags, len(segment.text))
    core = replace(segment, tags=inner_tags)
    before = core.written_between(0, part.begin)
    after = core.written_between(part.end, len(core.text))
    length = len(before) + len(core.raw(part)) + len(after)
    copied = sum(len(before) + len(branch) + len(after) for branch in argument.branches)
    growth = place.growth * length / copied - 1
    if growth < 0 or not _is_prose(core, part) or (argument.is_plural and _has_number(core, found)):
        return None
    inner_texts = [*argument.branches, "{}"]  # the braces are those of the argument itself
    if not all(_are_read_alike([before, text, after]) for text in inner_texts):
        return None
    inner = Place(place.depth + 1, place.is_plural or argument.is_plural, growth)
    pieces = argument.pieces([f"{before}{branch}{after}" for branch in argument.branches], inner)
    return [*tags_before, *pieces, *tags_after]


def _is_prose(segment: Run, argument: Protected) -> bool:
    """Check that the text around an argument has no key, unclosed quotes or half an element."""
    before = segment.text[: argument.begin]
    paired = len(close_tags(segment.tags)) * 2
    return (
        _KEY.search(before) is None
        and before.count('"') % 2 == 0
        and paired == sum(tag.kind != "void" for tag in segment.tags)
    )


def _has_number(segment: Run, found: Sequence[tuple[Protected, _Argument]]) -> bool:
    """Check whether there is a `#` in a segment, except in plurals: it would become a plural's number."""
    plurals = {part.begin for part, argument in found if argument.is_plural}
    raws = [segment.raw(part) for part in segment.protected if part.begin not in plurals]
    return any("#" in text for text in [segment.text, *raws, *(tag.raw for tag in segment.tags)])


def _are_read_alike(texts: Sequence[str]) -> bool:
    """Check that texts have the same quotes and braces if they are joined in a branch, which `}` ends."""
    for pattern in (_MARK, _MARK_OUTSIDE):
        apart = [pattern.findall(text) for text in texts]
        joined = pattern.findall("".join([*texts, "}"]))
        if joined != [*chain.from_iterable(apart), "}"] or not all(map(_is_balanced, apart)):
            return False
    return True


def _is_balanced(marks: Sequence[str]) -> bool:
    """Check that each brace has its counterpart."""
    depths = [0, *accumulate((mark == "{") - (mark == "}") for mark in marks)]
    return min(depths) == depths[-1] == 0


def _arguments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the outermost arguments with branches."""
    opening = _ARGUMENT.search(text)
    ends = _ends(text) if opening else {}
    while opening:
        position = ends.get(opening.start(), opening.end())
        if _edges(text, opening, ends):
            yield opening.start(), position
        opening = _ARGUMENT.search(text, position)


def _edges(text: str, opening: re.Match[str], ends: dict[int, int]) -> list[int]:
    """Return the begin and end of each branch of an argument, and its own end; none if it is not valid."""
    last = ends.get(opening.start(), 0)
    edges: list[int] = []
    position = opening.end()
    while selector := _SELECTOR.match(text, position, last):
        position = ends[selector.end() - 1]
        edges += [selector.end(), position - 1]
    is_valid = edges and not text[position : last - 1].strip()
    return [*edges, last] if is_valid else []


def _is_literal(mark: str) -> bool:
    """Check whether a mark is quoted text without spaces, such as '{' or '{name}'.

    Its apostrophes must not become quotation marks, and it has no words to translate.
    """
    return len(mark) > 2 and mark[-1] == "'" and not any(map(str.isspace, mark))


def unmasked(piece: str | Run, protected: Iterator[str]) -> str | Run:
    """Replace each `PROTECTED` in a piece of a message by the next of `protected`, if any is left."""

    def fill(raw: str) -> str:
        return re.sub(PROTECTED, lambda _: next(protected, PROTECTED), raw)

    if isinstance(piece, str):
        return fill(piece)
    own_markup = {part.begin: piece.raw(part) for part in piece.protected}
    positions = [match.start() for match in re.finditer(PROTECTED, piece.text)]
    filled: list[Tag] = []
    shielded: list[Protected] = []
    tags = 0
    for position in [*positions, len(piece.text)]:
        while tags < len(piece.tags) and piece.tags[tags].at <= position:
            filled.append(replace(piece.tags[tags], raw=fill(piece.tags[tags].raw)))
            tags += 1
        if position < len(piece.text):
            raw = (
                fill(own_markup[position]) if position in own_markup else next(protected, PROTECTED)
            )
            shielded.append(Protected(position, position + 1, raw))
    return replace(piece, tags=filled, protected=shielded)


def _ends(text: str) -> dict[int, int]:
    """Return, for the place of each opening brace, the place after the closing one."""
    opened: list[int] = []
    closing_positions: dict[int, int] = {}
    for mark in _MARK.finditer(text):
        if mark[0] == "{":
            opened.append(mark.start())
        elif mark[0] == "}" and opened:
            closing_positions[opened.pop()] = mark.end()
    return closing_positions

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
_TYPED = re.compile(
    r"""
    \{ \s*+ [\w.-]++ \s*+ , \s*+                        # {count, number}, {day, date, short}
    (?: number | date | time | spellout | ordinal | duration | list ) \s*+ [,}]
    """,
    re.VERBOSE,
)
"""An argument without branches, of a kind that only messages have."""
_SELECTOR = re.compile(r"\s*+(?:=\d++|[\w-]++)\s*+\{")
_QUOTED = r"''|'(?=[{}#|])(?:[^']++|'')*+(?:'|\Z)"
"""An apostrophe, or quoted text, in which braces and `#` have no meaning."""
_MARK = re.compile(rf"{_QUOTED}|[{{}}]")
_MARK_OUTSIDE = re.compile(r"''|'(?=[{}])(?:[^']++|'')*+(?:'|\Z)|[{}]")
"""The same outside of plurals, where an apostrophe before `#` quotes nothing."""
_NUMBER = re.compile(rf"{_QUOTED}|(?P<number>#)")
_KEY = re.compile(r"=|^[ \t]*+\S+[ \t]?:\s", re.MULTILINE)
"""The end of a message's key, as in `const text = …` or in YAML; a key must not move into the branches."""
MAX_NESTING = 10
"""Maximum depth of nested arguments that are split."""
MAX_GROWTH = 8
"""How many times as long as a sentence its copies may be in all.

Copies that a further argument splits again count, too, as all are read: two arguments with two branches each
make 2 + 4 copies.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """A text to translate."""

    text: str
    """With `PROTECTED` in place of each of `protected`."""
    protected: tuple[str, ...] = ()
    """The parts that are preserved unchanged, in order."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The arguments that a text is in."""

    depth: int = 0
    """Their number."""
    is_plural: bool = False
    """Whether one is a plural, in which `#` is its number."""
    growth: float = MAX_GROWTH
    """How many times as long as the text its further copies may be in all."""


OUTSIDE = Scope()
"""The scope of a text that is in no argument."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A text of a message that is to be split on its own: a branch, or text beside an argument."""

    text: str
    scope: Scope


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

    def pieces(self, texts: Sequence[str], scope: Scope) -> list[str | Branch]:
        """Return the argument with these texts in its branches."""
        branches = [Branch(text, scope) for text in texts]
        pairs = zip(self.syntax, branches, strict=False)
        return [*(piece for pair in pairs for piece in pair), self.syntax[-1]]


Arguments = Sequence[tuple[Protected, _Argument]]
"""Arguments of a segment, in order, and where they are in it."""


def masked(text: str, scope: Scope) -> Message | None:
    """Return a text in which arguments with branches, literals and, in a plural, `#` are protected.

    None if the text is in no argument and has none with branches or a type, or if it has `PROTECTED` itself.
    """
    if PROTECTED in text:
        return None
    arguments = list(_arguments(text))
    if not (arguments or scope.depth or _TYPED.search(text)):
        return None
    parts: list[str] = []
    protected: list[str] = []
    position = 0
    for first, last in [*arguments, (len(text), len(text))]:
        for mark in _NUMBER.finditer(text, position, first):
            if (scope.is_plural and mark["number"]) or _is_literal(mark[0]):
                parts += [text[position : mark.start()], PROTECTED]
                protected.append(mark[0])
                position = mark.end()
        parts.append(text[position:first])
        if first < last:
            parts.append(PROTECTED)
            protected.append(text[first:last])
        position = last
    return Message("".join(parts), tuple(protected))


def with_branches(segment: Run) -> Arguments:
    """Return the protected arguments of a segment whose branches have words."""
    return [
        (part, argument)
        for part in segment.protected
        if part.raw is not None
        and (argument := _Argument.of(part.raw))
        and any(map(has_letter, argument.branches))
    ]


def cut(segment: Run, arguments: Arguments, scope: Scope) -> list[str | Branch] | None:
    """Return the parts of a segment with these arguments, or None if no branches are to be translated.

    If possible, these are the branches of one argument, each with the words around it. Otherwise, an
    argument with words on one side only is separated from them, and one between words is preserved.
    """
    if not arguments or scope.depth >= MAX_NESTING:
        return None
    letters = _letters_span(segment)
    if letters and (pieces := _around_one(segment, arguments, scope)):
        return pieces
    return _at_edges(segment, arguments, letters, scope)


def problem(arguments: Arguments) -> str:
    """Tell that the branches of the first of these arguments remain untranslated; "" without any."""
    if not arguments:
        return ""
    raw = arguments[0][0].raw
    return f"the branches of {quoted(raw)} are not translated: write whole sentences in them"


def _letters_span(segment: Run) -> tuple[int, int] | None:
    """Return the places of the first and the last letter that are not protected; None without any."""
    gaps = [(part.begin, part.end, " " * (part.end - part.begin)) for part in segment.protected]
    places = [
        at for at, character in enumerate(replaced(segment.text, gaps)) if character.isalpha()
    ]
    return (places[0], places[-1]) if places else None


def _at_edges(
    segment: Run, arguments: Arguments, letters: tuple[int, int] | None, scope: Scope
) -> list[str | Branch] | None:
    """Return the branches of the arguments before and after all words, and the text between, in pieces.

    Return None if all arguments are between words. Also if a brace that belongs to no argument would be in
    another piece than its counterpart, unless there are no words.
    """
    inner, position = replace(scope, depth=scope.depth + 1), 0
    pieces: list[str | Branch] = []
    gaps: list[str] = []
    for part, argument in arguments:
        if letters and letters[0] < part.begin and part.end <= letters[1]:
            continue
        gaps.append(segment.written_between(position, part.begin))
        is_plural = scope.is_plural or argument.is_plural
        pieces.append(Branch(gaps[-1], inner))
        pieces += argument.pieces(argument.branches, replace(inner, is_plural=is_plural))
        position = part.end
    gaps.append(segment.written_between(position, len(segment.text)))
    if not pieces or (letters and not all(_is_balanced(_MARK.findall(gap)) for gap in gaps)):
        return None
    return [*pieces, Branch(gaps[-1], inner)]


def _around_one(segment: Run, arguments: Arguments, scope: Scope) -> list[str | Branch] | None:
    """Return an argument with the rest of the segment in its branches, or None if it must not move.

    It is the first select, or else the first plural: in a select within a plural, `#` is no number.
    """
    part, argument = min(arguments, key=lambda one: one[1].is_plural)
    tags_before, inner_tags, tags_after = outermost(segment.tags, len(segment.text))
    core = replace(segment, tags=inner_tags)
    before = core.written_between(0, part.begin)
    after = core.written_between(part.end, len(core.text))
    length = len(before) + len(core.raw(part)) + len(after)
    copied = sum(len(before) + len(branch) + len(after) for branch in argument.branches)
    growth = scope.growth * length / copied - 1
    changes_number = (argument.is_plural or scope.is_plural) and _has_number(core)
    if growth < 0 or changes_number or not _may_move(core, part):
        return None
    inner_texts = [*argument.branches, "{}"]  # the braces are those of the argument itself
    if not all(_are_read_alike([before, text, after]) for text in inner_texts):
        return None
    inner = Scope(scope.depth + 1, scope.is_plural or argument.is_plural, growth)
    pieces = argument.pieces([f"{before}{branch}{after}" for branch in argument.branches], inner)
    return [*tags_before, *pieces, *tags_after]


def _may_move(segment: Run, argument: Protected) -> bool:
    """Check that no key, open quote or half an element is around an argument."""
    before = segment.text[: argument.begin]
    paired = len(close_tags(segment.tags)) * 2
    return (
        _KEY.search(before) is None
        and before.count('"') % 2 == 0
        and paired == sum(tag.kind != "void" for tag in segment.tags)
    )


def _has_number(segment: Run) -> bool:
    """Check whether there is a `#` in a segment, except in plurals."""
    raws = [segment.raw(part) for part in segment.protected]
    texts = [segment.text, *raws, *(tag.raw for tag in segment.tags)]
    return any("#" in text and not _is_plural(text) for text in texts)


def _is_plural(text: str) -> bool:
    """Check whether a text is a plural, whose `#` is its own number."""
    argument = _Argument.of(text)
    return argument is not None and argument.is_plural


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

"""Splits ICU messages, `{count, plural, one {# file} other {# files}}`: only their words are translated.

An argument with branches is split if it is the whole message or at an edge of it. Between words, it is
preserved unchanged. Anything that is not valid is plain text. As in ICU, an apostrophe before a brace quotes
the text up to the next apostrophe.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from service.text.run import PROTECTED, Protected, Run, Tag

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
_NUMBER = re.compile(rf"{_QUOTED}|(?P<number>#)")
MAX_NESTING = 10
"""Maximum depth of nested arguments that are split."""


@dataclass(frozen=True, slots=True)
class Message:
    """A text to translate."""

    text: str
    """With `PROTECTED` in place of each of `protected`."""
    protected: tuple[str, ...] = ()
    """The parts that are preserved unchanged, in order."""


@dataclass(frozen=True, slots=True)
class _Argument:
    """The span of an argument, and the spans of its branches without their braces."""

    first: int
    last: int
    branches: list[tuple[int, int]]
    is_plural: bool


def split(text: str) -> list[str | Message] | None:
    """Return the parts that are preserved and those to translate, in order, or None without arguments."""
    if PROTECTED in text or not _ARGUMENT.search(text):
        return None
    pieces = list(_Reader(text).message(0, len(text), is_plural=False, depth=0))
    has_any = len(pieces) > 1 or any(
        isinstance(piece, Message) and piece.protected for piece in pieces
    )
    return pieces if has_any else None


class _Reader:
    """Reads the messages in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ends = _ends(text)

    def message(
        self, first: int, last: int, *, is_plural: bool, depth: int
    ) -> Iterator[str | Message]:
        """Yield the pieces of a message."""
        arguments = list(self._arguments(first, last))
        leading, trailing = [], []
        if depth < MAX_NESTING:
            if arguments and not self.text[first : arguments[0].first].strip():
                leading, arguments = arguments[:1], arguments[1:]
            if arguments and not self.text[arguments[-1].last : last].strip(" \t\n.!?"):
                trailing, arguments = arguments[-1:], arguments[:-1]
        for argument in leading:
            yield self.text[first : argument.first]
            yield from self._branches(argument, is_plural, depth)
            first = argument.last
        end = trailing[0].first if trailing else last
        yield self._masked(first, end, arguments, is_plural)
        for argument in trailing:
            yield from self._branches(argument, is_plural, depth)
            yield self.text[argument.last : last]

    def _branches(
        self, argument: _Argument, is_plural: bool, depth: int
    ) -> Iterator[str | Message]:
        is_plural = is_plural or argument.is_plural  # a `#` belongs to the innermost plural
        start = argument.first
        for branch_start, branch_end in argument.branches:
            yield self.text[start:branch_start]
            yield from self.message(branch_start, branch_end, is_plural=is_plural, depth=depth + 1)
            start = branch_end
        yield self.text[start : argument.last]

    def _masked(
        self, first: int, last: int, arguments: list[_Argument], is_plural: bool
    ) -> Message:
        """Return a message in which arguments, literals and, within a plural, `#` are protected."""
        parts: list[str] = []
        protected: list[str] = []
        argument_spans = [(argument.first, argument.last) for argument in arguments]
        for start, end in [*argument_spans, (last, last)]:
            for mark in _NUMBER.finditer(self.text, first, start):
                if (is_plural and mark["number"]) or _is_literal(mark[0]):
                    parts += [self.text[first : mark.start()], PROTECTED]
                    protected.append(mark[0])
                    first = mark.end()
            parts.append(self.text[first:start])
            if start < end:
                parts.append(PROTECTED)
                protected.append(self.text[start:end])
            first = end
        return Message("".join(parts), tuple(protected))

    def _arguments(self, first: int, last: int) -> Iterator[_Argument]:
        """Yield the outermost arguments with branches."""
        while opening := _ARGUMENT.search(self.text, first, last):
            first = self.ends.get(opening.start(), opening.end())
            if first > opening.end() and (argument := self._argument(opening, first)):
                yield argument

    def _argument(self, opening: re.Match[str], last: int) -> _Argument | None:
        """Return an argument, or None if it contains anything but branches."""
        branches: list[tuple[int, int]] = []
        position = opening.end()
        while selector := _SELECTOR.match(self.text, position, last):
            position = self.ends[selector.end() - 1]
            branches.append((selector.end(), position - 1))
        if not branches or self.text[position : last - 1].strip():
            return None
        return _Argument(opening.start(), last, branches, opening["kind"] != "select")


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

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
    r"\{\s*+[\w.-]++\s*+,\s*+(?P<kind>plural|selectordinal|select)\s*+,(?:\s*+offset:\d++)?+"
)
_SELECTOR = re.compile(r"\s*+(?:=\d++|[\w-]++)\s*+\{")
_MARK = re.compile(r"''|'(?=[{}#|])(?:[^']++|'')*+(?:'|\Z)|[{}]")
_NUMBER = re.compile(r"''|'(?=[{}#|])(?:[^']++|'')*+(?:'|\Z)|(?P<number>#)")
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
    has_any = len(pieces) > 1 or any(isinstance(one, Message) and one.protected for one in pieces)
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
        in_front, behind = [], []
        if depth < MAX_NESTING:
            if arguments and not self.text[first : arguments[0].first].strip():
                in_front, arguments = arguments[:1], arguments[1:]
            if arguments and not self.text[arguments[-1].last : last].strip(" \t\n.!?"):
                behind, arguments = arguments[-1:], arguments[:-1]
        for argument in in_front:
            yield self.text[first : argument.first]
            yield from self._branches(argument, is_plural, depth)
            first = argument.last
        end = behind[0].first if behind else last
        yield self._masked(first, end, arguments, is_plural)
        for argument in behind:
            yield from self._branches(argument, is_plural, depth)
            yield self.text[argument.last : last]

    def _branches(
        self, argument: _Argument, is_plural: bool, depth: int
    ) -> Iterator[str | Message]:
        is_plural = is_plural or argument.is_plural  # a `#` belongs to the innermost plural
        at = argument.first
        for first, last in argument.branches:
            yield self.text[at:first]
            yield from self.message(first, last, is_plural=is_plural, depth=depth + 1)
            at = last
        yield self.text[at : argument.last]

    def _masked(
        self, first: int, last: int, arguments: list[_Argument], is_plural: bool
    ) -> Message:
        """Return a message in which arguments and, within a plural, `#` are protected."""
        parts: list[str] = []
        protected: list[str] = []
        places = [(one.first, one.last) for one in arguments]
        for start, end in [*places, (last, last)]:
            for mark in _NUMBER.finditer(self.text, first, start):
                if is_plural and mark["number"]:
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
        while found := _ARGUMENT.search(self.text, first, last):
            first = self.ends.get(found.start(), found.end())
            if first > found.end() and (argument := self._argument(found, first)):
                yield argument

    def _argument(self, begin: re.Match[str], last: int) -> _Argument | None:
        """Return an argument, or None if it contains anything but branches."""
        branches: list[tuple[int, int]] = []
        at = begin.end()
        while selector := _SELECTOR.match(self.text, at, last):
            at = self.ends[selector.end() - 1]
            branches.append((selector.end(), at - 1))
        if not branches or self.text[at : last - 1].strip():
            return None
        return _Argument(begin.start(), last, branches, begin["kind"] != "select")


def unmasked(piece: str | Run, protected: Iterator[str]) -> str | Run:
    """Replace each `PROTECTED` in a piece of a message by the next of `protected`, if any is left."""

    def fill(raw: str) -> str:
        return re.sub(PROTECTED, lambda _: next(protected, PROTECTED), raw)

    if isinstance(piece, str):
        return fill(piece)
    own = {one.begin: piece.raw(one) for one in piece.protected}
    places = [match.start() for match in re.finditer(PROTECTED, piece.text)]
    filled: list[Tag] = []
    shields: list[Protected] = []
    tags = 0
    for at in [*places, len(piece.text)]:
        while tags < len(piece.tags) and piece.tags[tags].at <= at:
            filled.append(replace(piece.tags[tags], raw=fill(piece.tags[tags].raw)))
            tags += 1
        if at < len(piece.text):
            raw = fill(own[at]) if at in own else next(protected, PROTECTED)
            shields.append(Protected(at, at + 1, raw))
    return replace(piece, tags=filled, protected=shields)


def _ends(text: str) -> dict[int, int]:
    """Return, for the place of each opening brace, the place after the closing one."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for mark in _MARK.finditer(text):
        if mark[0] == "{":
            opened.append(mark.start())
        elif mark[0] == "}" and opened:
            found[opened.pop()] = mark.end()
    return found

"""ICU messages, `{count, plural, one {# file} other {# files}}`: words are translated, the rest is kept.

An argument whose branches are text is taken apart where it is all of its message or at an edge of it; between
words it comes through as it is. What cannot be read so is plain text. As in ICU, an apostrophe in front of a
brace quotes what follows, up to the next one.
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
"""Arguments within one another."""


@dataclass(frozen=True, slots=True)
class Message:
    """A text to translate, with no argument in it that is taken apart."""

    text: str
    """Where `protected` says something, with `PROTECTED` for each."""
    protected: tuple[str, ...] = ()
    """What comes through untouched, in order."""


@dataclass(frozen=True, slots=True)
class _Argument:
    """Where an argument is, and its branches, from behind a brace to the other one."""

    first: int
    last: int
    branches: list[tuple[int, int]]
    is_plural: bool


def split(text: str) -> list[str | Message] | None:
    """What stays as it is and what is to be translated, in order; None if no argument is taken apart."""
    if PROTECTED in text or not _ARGUMENT.search(text):
        return None
    pieces = list(_Reader(text).message(0, len(text), is_plural=False, depth=0))
    has_any = len(pieces) > 1 or any(isinstance(one, Message) and one.protected for one in pieces)
    return pieces if has_any else None


class _Reader:
    """Reads messages, from one place of a text to another."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ends = _ends(text)

    def message(
        self, first: int, last: int, *, is_plural: bool, depth: int
    ) -> Iterator[str | Message]:
        """The pieces of a message."""
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
        is_plural = is_plural or argument.is_plural  # a `#` within is that of the nearest plural
        at = argument.first
        for first, last in argument.branches:
            yield self.text[at:first]
            yield from self.message(first, last, is_plural=is_plural, depth=depth + 1)
            at = last
        yield self.text[at : argument.last]

    def _masked(
        self, first: int, last: int, arguments: list[_Argument], is_plural: bool
    ) -> Message:
        """Text with what is protected in it: arguments and, for the number of a plural, `#`."""
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
        """The outermost arguments with branches."""
        while found := _ARGUMENT.search(self.text, first, last):
            first = self.ends.get(found.start(), found.end())
            if first > found.end() and (argument := self._argument(found, first)):
                yield argument

    def _argument(self, begin: re.Match[str], last: int) -> _Argument | None:
        """An argument, if there are only branches in it."""
        branches: list[tuple[int, int]] = []
        at = begin.end()
        while selector := _SELECTOR.match(self.text, at, last):
            at = self.ends[selector.end() - 1]
            branches.append((selector.end(), at - 1))
        if not branches or self.text[at : last - 1].strip():
            return None
        return _Argument(begin.start(), last, branches, begin["kind"] != "select")


def unmasked(piece: str | Run, protected: Iterator[str]) -> str | Run:
    """A piece of a message with the next of what is protected in the places of it.

    Where nothing is, a `PROTECTED` is one that the text had.
    """

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
    """For each brace that opens, the place behind the one that closes it."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for mark in _MARK.finditer(text):
        if mark[0] == "{":
            opened.append(mark.start())
        elif mark[0] == "}" and opened:
            found[opened.pop()] = mark.end()
    return found

"""A run: a stretch of text without block markup, stored apart from its inline tags and protected parts."""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from operator import attrgetter, itemgetter
from typing import Literal, TypeVar

_WORD = re.compile(r"\w+")
_OF_WORDS = re.compile(r"(?:[0-9A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\xff]++[,.?!]?(?: |\Z))*+")
_Match = TypeVar("_Match")
PROTECTED = "\ufffc"
"""What stands in a run's text for markup that comes through untouched (OBJECT REPLACEMENT CHARACTER)."""
Format = Literal["text", "html", "xml"]
TagKind = Literal["open", "close", "void"]
Place = tuple[int, int, str]
"""Where a stretch begins and ends, and what is to stand there."""
Stretch = tuple[int, int] | Place
"""Where it begins and ends, and what is written for it; without that, its text."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and where in the plain text of its run it stands."""

    at: int
    raw: str
    kind: TagKind


@dataclass(frozen=True, slots=True)
class Protected:
    """A stretch of a run's text that comes through untouched."""

    begin: int
    end: int
    raw: str | None = None
    """What is written for it, as markup; None: its text."""


@dataclass(frozen=True, slots=True)
class Run:
    """Text without a block in it."""

    text: str = ""
    tags: Sequence[Tag] = ()
    """In order."""
    protected: Sequence[Protected] = ()
    """In order; none lies in another."""
    format: Format = "text"
    """What the run was written in, and will be."""
    _words: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)
    _is_of_words: bool | None = field(default=None, init=False, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(self.text or self.tags)

    @property
    def words(self) -> frozenset[str]:
        """The words of the text, figures among them; several rules look for theirs in it."""
        if self._words is not None:
            return self._words
        plain = plain_words(self.text)
        found = frozenset(_WORD.findall(self.text) if plain is None else plain)
        object.__setattr__(self, "_words", found)
        return found

    @property
    def is_of_words(self) -> bool:
        """Whether the text is nothing but Latin words, with a blank or one of a few marks between them.

        Most sentences are, and one look is all that it takes to know that a dozen rules have nothing to do.

        >>> Run("Guten Morgen, Herr Müller!").is_of_words, Run("Um 7:30 (ca.)").is_of_words
        (True, False)
        """
        if self._is_of_words is None:
            object.__setattr__(self, "_is_of_words", _OF_WORDS.fullmatch(self.text) is not None)
        return bool(self._is_of_words)

    def escaped(self, text: str) -> str:
        """Plain text as the run's format writes it."""
        return text if self.format == "text" else escape(text)

    def written(self) -> str:
        """The run as its format writes it, with its tags."""
        if not (self.tags or self.protected):
            return self.escaped(self.text)
        return self.written_between(0, len(self.text))

    def written_between(self, first: int, last: int) -> str:
        """A stretch of the run, with the tags in it and at its ends."""
        tags, protected = self.tags, self.protected
        if last - first < len(self.text):
            tags = tags[bisect_left(tags, first, key=_at) : bisect_right(tags, last, key=_at)]
            begin = bisect_left(protected, first, key=_begin)
            protected = protected[begin : bisect_left(protected, last, key=_begin)]
        places = [(tag.at, tag.at, tag.raw) for tag in tags]
        places += [(one.begin, one.end, self.raw(one)) for one in protected]
        places.sort(key=itemgetter(0))
        parts, at = [], first
        for begin, end, raw in places:
            parts += [self.escaped(self.text[at:begin]), raw]
            at = max(at, end)
        return "".join([*parts, self.escaped(self.text[at:last])])

    def raw(self, one: Protected) -> str:
        """What is written for a protected stretch."""
        return self.escaped(self.text[one.begin : one.end]) if one.raw is None else one.raw

    def with_markup(self) -> "Run":
        """The run with protected markup in its text."""
        return self.edited(
            [
                (one.begin, one.end, one.raw)
                for one in self.protected
                if one.raw is not None and self.text[one.begin : one.end] == PROTECTED
            ]
        )

    def unprotected(self) -> str:
        """The text without what is protected."""
        if not self.protected:
            return self.text
        return replaced(self.text, [(one.begin, one.end, "") for one in self.protected])

    def is_protected(self, at: int) -> bool:
        """Whether the character at `at` is."""
        place = bisect_right(self.protected, at, key=_begin) - 1
        return place >= 0 and at < self.protected[place].end

    def protected_between(self, begin: int, end: int) -> Sequence[Protected]:
        """What is protected of a stretch, whole or in part."""
        first = bisect_right(self.protected, begin, key=_end)
        return self.protected[first : bisect_left(self.protected, end, first, key=_begin)]

    def between_tags(self, find: Callable[[str, int, int], Iterator[_Match]]) -> Iterator[_Match]:
        """What `find` finds in the text, from one place to another, with no tag within."""
        edges = [0, *(tag.at for tag in self.tags), len(self.text)]
        return (match for edge in pairwise(edges) for match in find(self.text, *edge))

    def protecting(self, stretches: Iterable[Stretch]) -> "Run":
        """The run with these stretches protected, too; of those that overlap what is already, the rest.

        The tags in a stretch become a part of it. Where one's fellow is elsewhere, the stretch ends in front
        of the first.
        """
        free = [part for one in stretches for part in self._unprotected_of(Protected(*one))]
        tags = list(self.tags)
        found = [_with_tags(self, one, tags) for one in free]
        if not found:
            return self
        together = sorted([*self.protected, *found], key=_begin)
        return replace(self, tags=tags, protected=together)

    def _unprotected_of(self, one: Protected) -> Iterator[Protected]:
        """The parts of a stretch that are not protected."""
        at = one.begin
        for other in self.protected_between(one.begin, one.end):
            if at < other.begin:
                yield replace(one, begin=at, end=other.begin)
            at = other.end
        if at < one.end:
            yield replace(one, begin=at)

    def part(self, begin: int, end: int, tags: Sequence[Tag]) -> "Run":
        """From one character to another, with these of the tags, which are at its edges or in it."""
        first = bisect_left(self.protected, begin, key=_begin)
        last = bisect_left(self.protected, end, first, key=_begin)
        return Run(
            self.text[begin:end],
            [replace(one, at=one.at - begin) for one in tags],
            [
                replace(one, begin=one.begin - begin, end=one.end - begin)
                for one in self.protected[first:last]
            ],
            self.format,
        )

    def edited_outside(self, places: Iterable[Place]) -> "Run":
        """`edited`, but for the places that touch what is protected."""
        return self.edited([one for one in places if not self.protected_between(*one[:2])])

    def edited(self, places: Sequence[Place]) -> "Run":
        """The run with each of the places, in order, replaced in its text; what they take in is gone."""
        if not places:
            return self
        tags = shifted([tag.at for tag in self.tags], places)
        begins = shifted([one.begin for one in self.protected], places)
        ends = shifted([one.end for one in self.protected], places)
        return replace(
            self,
            text=replaced(self.text, places),
            tags=[replace(tag, at=at) for tag, at in zip(self.tags, tags, strict=True)],
            protected=[
                replace(one, begin=begin, end=end)
                for one, begin, end in zip(self.protected, begins, ends, strict=True)
                if begin < end
            ],
        )

    def extracted(
        self,
        places: Sequence[Place],
        raws: Iterable[str],
        kinds: Iterable[TagKind] = repeat("void"),
        *,
        in_front: bool = False,
    ) -> "Run":
        """`edited`, with a tag for each of the places, behind what is new there or in front of it.

        Of the tags at the beginning of a place, it is the last.
        """
        if not places:
            return self
        new = self.edited(places)
        anchors = shifted([first if in_front else last for first, last, _ in places], places)
        tags = [(old.at, tag) for old, tag in zip(self.tags, new.tags, strict=True)]
        tags += [
            (place[0], Tag(at, raw, kind))
            for place, raw, at, kind in zip(places, raws, anchors, kinds, strict=False)
        ]
        return replace(new, tags=[tag for _, tag in sorted(tags, key=itemgetter(0))])


_at, _begin, _end = attrgetter("at"), attrgetter("begin"), attrgetter("end")


def _with_tags(run: Run, one: Protected, tags: list[Tag]) -> Protected:
    """A stretch of a run with the tags in it, which `tags` then lacks; shorter, if they do not nest in it."""
    first, last = bisect_left(tags, one.begin, key=_at), bisect_right(tags, one.end, key=_at)
    inner = _nested(tags[first:last], one)
    if inner is None:
        return replace(one, end=next(tag.at for tag in tags[first:last] if tag.at > one.begin))
    if inner == (0, 0):
        return one
    taken = tags[first + inner[0] : first + inner[1]]
    del tags[first + inner[0] : first + inner[1]]
    raw = replace(run, tags=taken, protected=()).written_between(one.begin, one.end)
    return replace(one, raw=raw)


def _nested(tags: Sequence[Tag], one: Protected) -> tuple[int, int] | None:
    """Which of the tags that touch a stretch are a part of it; None if they do not nest in it."""
    inside = [place for place, tag in enumerate(tags) if one.begin < tag.at < one.end]
    if not inside:
        return 0, 0
    first, last = inside[0], inside[-1] + 1
    depth = lowest = 0
    for tag in tags[first:last]:
        depth += {"open": 1, "close": -1, "void": 0}[tag.kind]
        lowest = min(lowest, depth)
    opened, closed = -lowest, depth - lowest  # by tags at the edges
    in_front, behind = tags[first - opened : first], tags[last : last + closed]
    if len(in_front) < opened or len(behind) < closed or first < opened:
        return None
    if any(tag.kind != "open" for tag in in_front) or any(tag.kind != "close" for tag in behind):
        return None
    return first - opened, last + closed


def plain_words(text: str) -> list[str] | None:
    """The words of a text that has nothing else but blanks and the commonest marks; None of any other.

    Most texts are so, and a pattern takes six times as long.

    >>> plain_words("Ja, um 7."), plain_words("im 1. Stock (links)"), plain_words("don't")
    (['Ja', 'um', '7'], None, None)
    """
    for mark in ",.?!":
        text = text.replace(mark, " ")
    return text.split() if text.replace(" ", "").isalnum() else None


def escape(text: str) -> str:
    """Text as it is written between tags."""
    return html.escape(text, quote=False).replace("\u00a0", "&#160;")


def replaced(text: str, places: Sequence[Place]) -> str:
    """`text` with each of the places, in order, replaced."""
    if not places:
        return text
    parts, at = [], 0
    for begin, end, new in places:
        parts += [text[at:begin], new]
        at = end
    return "".join([*parts, text[at:]])


def shifted(positions: Sequence[int], places: Sequence[Place]) -> list[int]:
    """Where positions, in order, are after `replaced`; one within a place is behind what is new there."""
    found, shift, passed = [], 0, 0
    for at in positions:
        while passed < len(places) and places[passed][1] <= at:
            first, last, new = places[passed]
            shift, passed = shift + len(new) - (last - first), passed + 1
        first, _, new = places[passed] if passed < len(places) else (at, at, "")
        found.append((first + len(new) if first < at else at) + shift)
    return found

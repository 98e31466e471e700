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
"""Replaces protected markup in a run's text (OBJECT REPLACEMENT CHARACTER)."""
Format = Literal["text", "html", "xml"]
TagKind = Literal["open", "close", "void"]
Place = tuple[int, int, str]
"""The begin and end of a stretch of text, and its replacement."""
Stretch = tuple[int, int] | Place
"""The begin and end of a stretch to protect, and the markup that is written for it; by default, its text."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and its place in the plain text of the run."""

    at: int
    raw: str
    kind: TagKind
    full: str = ""
    """What a translation has instead, if the text before it has changed: `][this]` after `[that`."""

    @property
    def depth(self) -> int:
        """The change of the nesting depth: 1, -1 or 0."""
        return (self.kind == "open") - (self.kind == "close")


@dataclass(frozen=True, slots=True)
class Protected:
    """A stretch of a run's text that is preserved unchanged."""

    begin: int
    end: int
    raw: str | None = None
    """The markup that is written for it; None for its text."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text without block markup."""

    text: str = ""
    tags: Sequence[Tag] = ()
    """In order."""
    protected: Sequence[Protected] = ()
    """In order, without overlaps."""
    format: Format = "text"
    """The format in which the run is written."""
    _words: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)
    _is_of_words: bool | None = field(default=None, init=False, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Check whether the run has text or tags."""
        return bool(self.text or self.tags)

    @property
    def words(self) -> frozenset[str]:
        """The words of the text, including numbers; cached for the rules that use them."""
        if self._words is not None:
            return self._words
        word_list = plain_words(self.text)
        words = frozenset(_WORD.findall(self.text) if word_list is None else word_list)
        object.__setattr__(self, "_words", words)
        return words

    @property
    def is_of_words(self) -> bool:
        """Whether the text consists of Latin words, separated by single spaces and common marks.

        Most sentences do, and a dozen rules have nothing to do for them.

        >>> Run("Guten Morgen, Herr Müller!").is_of_words, Run("Um 7:30 (ca.)").is_of_words
        (True, False)
        """
        if self._is_of_words is None:
            object.__setattr__(self, "_is_of_words", _OF_WORDS.fullmatch(self.text) is not None)
        return bool(self._is_of_words)

    def escaped(self, text: str) -> str:
        """Return plain text as it is written in the run's format."""
        return text if self.format == "text" else escape(text)

    def written(self) -> str:
        """Return the run as it is written in its format, with its tags."""
        if not (self.tags or self.protected):
            return self.escaped(self.text)
        return self.written_between(0, len(self.text))

    def written_between(self, first: int, last: int) -> str:
        """Return a stretch of the run as it is written, with the tags in it and at its ends."""
        tags, protected = self.tags, self.protected
        if last - first < len(self.text):
            tags = tags[bisect_left(tags, first, key=_at) : bisect_right(tags, last, key=_at)]
            first_protected = bisect_left(protected, first, key=_begin)
            protected = protected[first_protected : bisect_left(protected, last, key=_begin)]
        places = [(tag.at, tag.at, tag.raw) for tag in tags]
        places += [(part.begin, part.end, self.raw(part)) for part in protected]
        places.sort(key=itemgetter(0))
        parts, position = [], first
        for start, end, raw in places:
            parts += [self.escaped(self.text[position:start]), raw]
            position = max(position, end)
        return "".join([*parts, self.escaped(self.text[position:last])])

    def raw(self, part: Protected) -> str:
        """Return what is written for a protected stretch."""
        return self.escaped(self.text[part.begin : part.end]) if part.raw is None else part.raw

    def with_markup(self) -> "Run":
        """Return the run with protected markup in its text, instead of `PROTECTED`."""
        return self.edited(
            [
                (part.begin, part.end, part.raw)
                for part in self.protected
                if part.raw is not None and self.text[part.begin : part.end] == PROTECTED
            ]
        )

    def unprotected(self) -> str:
        """Return the text without its protected stretches."""
        if not self.protected:
            return self.text
        return replaced(self.text, [(part.begin, part.end, "") for part in self.protected])

    def is_protected(self, position: int) -> bool:
        """Check whether the character at `position` is protected."""
        index = bisect_right(self.protected, position, key=_begin) - 1
        return index >= 0 and position < self.protected[index].end

    def protected_between(self, begin: int, end: int) -> Sequence[Protected]:
        """Return the protected stretches that overlap a stretch."""
        first = bisect_right(self.protected, begin, key=_end)
        return self.protected[first : bisect_left(self.protected, end, first, key=_begin)]

    def between_tags(self, find: Callable[[str, int, int], Iterator[_Match]]) -> Iterator[_Match]:
        """Yield the matches of `find` in each stretch of the text between two tags."""
        edges = [0, *(tag.at for tag in self.tags), len(self.text)]
        return (match for edge in pairwise(edges) for match in find(self.text, *edge))

    def protecting(self, stretches: Iterable[Stretch]) -> "Run":
        """Protect the parts of these stretches that are not protected yet.

        The tags in a stretch become part of it. If they do not nest in it, the stretch ends before the first.
        A part that begins within another one of these is left out.
        """
        unprotected = [
            part for stretch in stretches for part in self._unprotected_of(Protected(*stretch))
        ]
        if not unprotected:
            return self
        tags, protected, position = list(self.tags), [], 0
        for part in sorted(unprotected, key=_begin):
            if part.begin >= position:
                protected.append(_with_tags(self, part, tags))
                position = part.end
        all_protected = sorted([*self.protected, *protected], key=_begin)
        return replace(self, tags=tags, protected=all_protected)

    def _unprotected_of(self, stretch: Protected) -> Iterator[Protected]:
        """Yield the parts of a stretch that are not protected; if some are, the others stay as they are."""
        start = stretch.begin
        for part in self.protected_between(stretch.begin, stretch.end):
            stretch = replace(stretch, raw=None)
            if start < part.begin:
                yield replace(stretch, begin=start, end=part.begin)
            start = part.end
        if start < stretch.end:
            yield replace(stretch, begin=start)

    def part(self, begin: int, end: int, tags: Sequence[Tag]) -> "Run":
        """Return a stretch of the run with the given tags, which must be in it or at its edges."""
        first = bisect_left(self.protected, begin, key=_begin)
        last = bisect_left(self.protected, end, first, key=_begin)
        return Run(
            self.text[begin:end],
            [replace(tag, at=tag.at - begin) for tag in tags],
            [
                replace(part, begin=part.begin - begin, end=part.end - begin)
                for part in self.protected[first:last]
            ],
            self.format,
        )

    def edited_outside(self, places: Iterable[Place]) -> "Run":
        """Do the same as `edited`, except for the places that overlap a protected stretch."""
        return self.edited([place for place in places if not self.protected_between(*place[:2])])

    def edited(self, places: Sequence[Place]) -> "Run":
        """Replace the places, which must be in order; a protected stretch within a place is removed."""
        if not places:
            return self
        tags = shifted([tag.at for tag in self.tags], places)
        begins = shifted([part.begin for part in self.protected], places)
        ends = shifted([part.end for part in self.protected], places)
        return replace(
            self,
            text=replaced(self.text, places),
            tags=[replace(tag, at=at) for tag, at in zip(self.tags, tags, strict=True)],
            protected=[
                replace(part, begin=begin, end=end)
                for part, begin, end in zip(self.protected, begins, ends, strict=True)
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
        """Do the same as `edited`, and add a tag for each place, after the replacement or before it.

        It follows other tags at the beginning of the place.
        """
        if not places:
            return self
        edited = self.edited(places)
        anchors = shifted([start if in_front else end for start, end, _ in places], places)
        tags = [
            (tag.at, edited_tag) for tag, edited_tag in zip(self.tags, edited.tags, strict=True)
        ]
        tags += [
            (place[0], Tag(position, raw, kind))
            for place, raw, position, kind in zip(places, raws, anchors, kinds, strict=False)
        ]
        return replace(edited, tags=[tag for _, tag in sorted(tags, key=itemgetter(0))])


_at, _begin, _end = attrgetter("at"), attrgetter("begin"), attrgetter("end")


def _with_tags(run: Run, part: Protected, tags: list[Tag]) -> Protected:
    """Move the tags in a stretch from `tags` into its markup; if they do not nest in it, shorten it."""
    first, last = bisect_left(tags, part.begin, key=_at), bisect_right(tags, part.end, key=_at)
    nested = _nested(tags[first:last], part)
    if nested is None:
        return replace(part, end=next(tag.at for tag in tags[first:last] if tag.at > part.begin))
    if nested == (0, 0):
        return part
    inner_tags = tags[first + nested[0] : first + nested[1]]
    del tags[first + nested[0] : first + nested[1]]
    raw = replace(run, tags=inner_tags, protected=()).written_between(part.begin, part.end)
    return replace(part, raw=raw)


def _nested(tags: Sequence[Tag], part: Protected) -> tuple[int, int] | None:
    """Return the range of tags that are part of a stretch they touch, or None if they do not nest in it."""
    indices = [index for index, tag in enumerate(tags) if part.begin < tag.at < part.end]
    if not indices:
        return 0, 0
    first, last = indices[0], indices[-1] + 1
    depth = lowest = 0
    for tag in tags[first:last]:
        depth += tag.depth
        lowest = min(lowest, depth)
    opened, closed = -lowest, depth - lowest  # number of tags needed at the edges
    tags_before, tags_after = tags[first - opened : first], tags[last : last + closed]
    if len(tags_before) < opened or len(tags_after) < closed or first < opened:
        return None
    if any(tag.kind != "open" for tag in tags_before) or any(
        tag.kind != "close" for tag in tags_after
    ):
        return None
    return first - opened, last + closed


def plain_words(text: str) -> list[str] | None:
    """Return the words of a text that has nothing else but spaces and common marks, or None otherwise.

    Most texts have nothing else, and a regular expression takes six times as long.

    >>> plain_words("Ja, um 7."), plain_words("im 1. Stock (links)"), plain_words("don't")
    (['Ja', 'um', '7'], None, None)
    """
    for mark in ",.?!":
        text = text.replace(mark, " ")
    return text.split() if text.replace(" ", "").isalnum() else None


def escape(text: str) -> str:
    """Escape text for HTML and XML."""
    return html.escape(text, quote=False).replace("\u00a0", "&#160;")


def replaced(text: str, places: Sequence[Place]) -> str:
    """Replace the places, which must be in order, in a text."""
    if not places:
        return text
    parts, position = [], 0
    for start, end, replacement in places:
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def shifted(positions: Sequence[int], places: Sequence[Place]) -> list[int]:
    """Return the positions, in order, after `replaced`; one within a place moves after the replacement."""
    moved, shift, passed = [], 0, 0
    for position in positions:
        while passed < len(places) and places[passed][1] <= position:
            start, end, replacement = places[passed]
            shift, passed = shift + len(replacement) - (end - start), passed + 1
        start, _, replacement = places[passed] if passed < len(places) else (position, position, "")
        moved.append((start + len(replacement) if start < position else position) + shift)
    return moved

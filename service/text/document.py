"""A text taken apart into sentences to translate and what lies between them, and put together again."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Literal

from service.errors import LimitExceededError
from service.text import markup, placeholders
from service.text.markup import Run, Tag
from service.text.placeholders import StandIn
from service.text.projection import project, tree
from service.text.segmenter import Splitting, has_letter, split
from service.text.words import Alignment

Format = Literal["text", "html", "xml"]
_Protected = tuple[int, int, str]
"""A stretch of a text, and what stands there in the input."""
MARKED = "\ufffc"
"""In front of an original that is markup already."""
MOST_NESTED = 100
"""Inline elements within one another."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is given to the model at once."""

    text: str
    """Plain, with names in the places of its placeholders."""
    tags: tuple[Tag, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()

    def came_through(self, translation: str) -> bool:
        """Whether all its placeholders can be put into a translation."""
        return placeholders.came_through(translation, self.stand_ins)

    def restored(self, text: str) -> str:
        """A text of this sentence with its placeholders again."""
        return placeholders.restore(text, self.stand_ins).replace(MARKED, "")

    @property
    def pieces(self) -> list[str]:
        """Stretches between its stand-ins, and these, in order: to be translated apart where that fails."""
        return placeholders.pieces(self.text, self.stand_ins)


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a request."""

    parts: tuple[str | Sentence, ...]
    """What comes out as it is, and the sentences."""
    format: Format

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return [part for part in self.parts if isinstance(part, Sentence)]

    def assemble(self, translations: Sequence[str], alignments: Sequence[Alignment | None]) -> str:
        """The text again, with a translation for every sentence; one with tags needs its alignment too."""
        found = zip(translations, alignments, strict=True)
        return "".join(
            part if isinstance(part, str) else self._rendered(part, *next(found))
            for part in self.parts
        )

    def _rendered(self, sentence: Sentence, translation: str, alignment: Alignment | None) -> str:
        written = _writer(self.format, sentence.stand_ins)
        if not sentence.tags or alignment is None:
            return written(translation)
        return project(tree(sentence.tags, len(sentence.text)), alignment, written)


def take_apart(
    text: str, form: Format, splitting: Splitting = "all", ignored: Sequence[str] = ()
) -> Document:
    """Take a text apart; `ignored` are names of elements whose text comes through untouched.

    Raises:
        LimitExceededError: inline elements are nested more than `MOST_NESTED` deep.
    """
    parts: list[str | Sentence] = []
    if form == "text":
        parts += _run(Run(text), form, splitting)
    else:
        for piece in markup.parse(text, form, ignored):
            parts += [piece] if isinstance(piece, str) else _run(piece, form, splitting)
    return Document(tuple(part for part in parts if part != ""), form)


def _run(run: Run, form: Format, splitting: Splitting) -> Iterator[str | Sentence]:
    """The parts of a run: its sentences, each with the tags that fall into it, and what is between."""
    tags = _without_empty_elements(run.tags)
    _check_nesting(tags)
    at = taken = 0
    for segment in split(run.text, splitting):
        begin, at = at, at + len(segment.text)
        protected = _protected(run, begin, at)
        inner: list[Tag] = []
        outer: list[Tag] = []
        while taken < len(tags) and _belongs(tags[taken], begin, at, at == len(run.text)):
            (inner if segment.is_sentence else outer).append(tags[taken])
            taken += 1
        if segment.is_sentence:
            yield from _sentence(segment.text, begin, inner, protected, form)
        else:
            yield _literal(segment.text, begin, outer, protected, form)


def _check_nesting(tags: Sequence[Tag]) -> None:
    changes = ({"open": 1, "close": -1, "void": 0}[tag.kind] for tag in tags)
    depths = list(accumulate(changes, initial=0))  # below 0 where tags close that never opened
    deepest = max(depths) - min(depths)
    if deepest > MOST_NESTED:
        raise LimitExceededError(
            f"Invalid request: inline elements are nested {deepest} deep, the limit is {MOST_NESTED}"
        )


def _belongs(tag: Tag, begin: int, end: int, is_last: bool) -> bool:
    """Whether a tag goes with the stretch from `begin` to `end`: one that closes, with what is before it."""
    return tag.at <= end if tag.kind == "close" or is_last else tag.at < max(end, begin + 1)


def _sentence(
    text: str, begin: int, tags: list[Tag], protected: list[_Protected], form: Format
) -> Iterator[str | Sentence]:
    """A sentence with names for its placeholders; where there are not enough, cut up at them."""
    rest = _cut(text, [(first, last, "") for first, last, _ in protected])
    if not has_letter(rest):
        yield _literal(text, begin, tags, protected, form)
        return
    names = None
    if not any(_touches_a_word(text, first, last) for first, last, _ in protected):
        names = placeholders.stand_ins(rest, [original for _, _, original in protected])
    if names is not None:
        places = [
            (first, last, name.name)
            for (first, last, _), name in zip(protected, names, strict=True)
        ]
        moved = tuple(Tag(_shifted(tag.at - begin, places), tag.raw, tag.kind) for tag in tags)
        yield Sentence(_cut(text, places), moved, tuple(names))
        return
    at, taken = 0, 0
    for first, last, original in [*protected, (len(text), len(text), "")]:
        for stretch, end in ((text[at:first], first), (None, last)):
            inner = []
            while taken < len(tags) and tags[taken].at - begin <= end:
                inner.append(Tag(tags[taken].at - begin - at, tags[taken].raw, tags[taken].kind))
                taken += 1
            if stretch is None:
                yield "".join([_written(original, form), *(tag.raw for tag in inner)])
            elif has_letter(stretch):
                core = stretch.strip()
                lead = stretch.index(core)
                placed = tuple(
                    Tag(min(max(tag.at - lead, 0), len(core)), tag.raw, tag.kind) for tag in inner
                )
                yield _written(stretch[:lead], form)
                yield Sentence(core, placed)
                yield _written(stretch[lead + len(core) :], form)
            else:
                yield _literal(stretch, 0, inner, [], form)
        at = last


def _touches_a_word(text: str, first: int, last: int) -> bool:
    """Whether a name in this place would run into a word."""
    return any(
        re.match(r"\w", beside)
        for beside in (text[max(0, first - 1) : first], text[last : last + 1])
    )


def _literal(
    text: str, begin: int, tags: Sequence[Tag], protected: Sequence[_Protected], form: Format
) -> str:
    """A stretch that is not translated, with its tags in their places."""
    places = sorted(
        [(tag.at - begin, tag.at - begin, tag.raw) for tag in tags]
        + [(first, last, _written(original, form)) for first, last, original in protected],
        key=lambda place: place[0],
    )
    parts, at = [], 0
    for first, last, raw in places:
        parts += [_written(text[at:first], form), raw]
        at = max(at, last)
    return "".join([*parts, _written(text[at:], form)])


def _protected(run: Run, begin: int, end: int) -> list[_Protected]:
    """What comes through untouched between `begin` and `end`, counted from `begin`."""
    text = run.text[begin:end]
    inside = slice(*(bisect_left(run.protected, at, key=itemgetter(0)) for at in (begin, end)))
    marked = [
        (first - begin, last - begin, MARKED + raw) for first, last, raw in run.protected[inside]
    ]
    starts = [first for first, _, _ in marked]  # of one character each
    found = [
        (first, last, text[first:last])
        for first, last in placeholders.spans(text)
        if bisect_left(starts, first) == bisect_left(starts, last)
    ]
    return sorted(marked + found)


def _written(text: str, form: Format) -> str:
    """Plain text, or an original that is markup already, as the format writes it."""
    if text.startswith(MARKED):
        return text.removeprefix(MARKED)
    return text if form == "text" else markup.escape(text)


def _writer(form: Format, names: Sequence[StandIn]) -> Callable[[str], str]:
    originals = [StandIn(name.name, _written(name.original, form)) for name in names]
    return lambda text: placeholders.restore(
        text if form == "text" else markup.escape(text), originals
    )


def _cut(text: str, places: Sequence[tuple[int, int, str]]) -> str:
    """`text` with each of the places, in order, replaced."""
    parts, at = [], 0
    for first, last, new in places:
        parts += [text[at:first], new]
        at = last
    return "".join([*parts, text[at:]])


def _shifted(at: int, places: Sequence[tuple[int, int, str]]) -> int:
    """Where a position is after `_cut`."""
    return at + sum(len(new) - (last - first) for first, last, new in places if last <= at)


def _without_empty_elements(tags: Sequence[Tag]) -> list[Tag]:
    """Elements around nothing, as single tags: they cannot be around anything in the translation either."""
    kept: list[Tag] = []
    for tag in tags:
        before = kept[-1] if kept else None
        if (
            tag.kind == "close"
            and before is not None
            and before.kind == "open"
            and before.at == tag.at
        ):
            kept[-1] = Tag(tag.at, before.raw + tag.raw, "void")
        else:
            kept.append(tag)
    return kept

"""A text taken apart into sentences to translate and what lies between them, and put together again."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Literal

from service.text.edits import replaced, shifted
from service.text.language_pair import LanguagePair
from service.text.markup import elements, plain
from service.text.markup.nesting import belongs, check_nesting, outermost, without_empty_elements
from service.text.markup.projection import project, tree
from service.text.rules import placeholders
from service.text.rules.abbreviations import Abbreviations
from service.text.rules.casing import in_usual_case, is_in_capitals, says_nothing
from service.text.rules.quotes import unquoted
from service.text.rules.scripts import shielded
from service.text.rules.spelling import tidied
from service.text.rules.symbols import lifted
from service.text.run import Run, Tag
from service.text.segmenter import Splitting, has_letter, split
from service.text.words import Alignment

Format = Literal["text", "html", "xml"]
OnCount = Callable[[int], None]
"""Is told, again and again, how many sentences there are so far; what it raises ends the work."""
NO_ABBREVIATIONS, ANY_PAIR = Abbreviations({}), LanguagePair()


@dataclass(frozen=True, slots=True)
class StandIn:
    """A name, or a number for a number, in a sentence, and what it stands for."""

    name: str
    original: str
    written: str
    """The original as the text's format writes it."""


@dataclass(frozen=True, slots=True)
class _Protected:
    """A stretch of a text that comes through untouched."""

    first: int
    last: int
    original: str
    written: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is given to the model at once."""

    text: str
    """Plain, with names in the places of its placeholders."""
    tags: tuple[Tag, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    in_capitals: bool = False
    """Whether all of it was, and so all of its translation is to be."""

    def came_through(self, translation: str) -> bool:
        """Whether all its placeholders can be put into a translation."""
        return placeholders.came_through(translation, [one.name for one in self.stand_ins])

    def restored(self, text: str) -> str:
        """A text of this sentence with its placeholders again."""
        originals = {one.name: one.original for one in self.stand_ins}
        return placeholders.restore(self.cased(text), originals)

    def cased(self, text: str) -> str:
        """A text of this sentence in capitals, if it was; not so its stand-ins."""
        if not self.in_capitals:
            return text
        pieces = placeholders.pieces(text, [one.name for one in self.stand_ins])
        pieces[::2] = map(str.upper, pieces[::2])
        return "".join(pieces)

    @property
    def pieces(self) -> list[str]:
        """Its text cut at its stand-ins, which are every second piece: what to translate apart from them."""
        return placeholders.pieces(self.text, [one.name for one in self.stand_ins])


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
        written = _writer(self.format, sentence)
        if not sentence.tags or alignment is None:
            return written(translation)
        return project(tree(sentence.tags, len(sentence.text)), alignment, written)


def take_apart(
    text: str,
    form: Format,
    splitting: Splitting = "all",
    ignored: Sequence[str] = (),
    abbreviations: Abbreviations = NO_ABBREVIATIONS,
    pair: LanguagePair = ANY_PAIR,
    on_count: OnCount = lambda _: None,
) -> Document:
    """Take a text apart.

    Args:
        text: any text.
        form: what it is written in.
        splitting: where to cut it.
        ignored: names of elements whose text comes through untouched.
        abbreviations: what is written out before.
        pair: what is to be known of the languages.
        on_count: called for every run and every sentence.

    Raises:
        LimitExceededError: inline elements are nested more than `nesting.MAX_NESTING` deep.
    """
    runs = plain.parse(text) if form == "text" else elements.parse(text, form, ignored)
    written = partial(_written, form=form)
    parts: list[str | Sentence] = []
    sentences = 0
    for run in runs:
        on_count(sentences)
        if isinstance(run, str):
            parts.append(run)
            continue
        run = lifted(unquoted(tidied(run), pair.quotes), written)
        run = shielded(run, pair.spells)
        for part in _run(abbreviations.spelled_out(run), form, splitting, pair):
            parts.append(part)
            if not isinstance(part, str):
                sentences += 1
                on_count(sentences)
    return Document(tuple(part for part in parts if part != ""), form)


def _run(
    run: Run, form: Format, splitting: Splitting, pair: LanguagePair
) -> Iterator[str | Sentence]:
    """The parts of a run: its sentences, each with the tags that fall into it, and what is between."""
    tags = without_empty_elements(run.tags)
    check_nesting(tags)
    edges = {tag.at for tag in tags}
    at = taken = 0
    for segment in split(run.text, splitting):
        begin, at = at, at + len(segment.text)
        protected = _protected(run, begin, at, edges, form)
        inner: list[Tag] = []
        outer: list[Tag] = []
        while taken < len(tags) and belongs(tags[taken], begin, at, at == len(run.text)):
            (inner if segment.is_sentence else outer).append(tags[taken])
            taken += 1
        if segment.is_sentence:
            before, inner, behind = outermost(inner, begin, at)
            yield from before
            yield from _sentence(segment.text, begin, inner, protected, form, pair)
            yield from behind
        else:
            yield _literal(pair.written(segment), begin, outer, protected, form)
    yield "".join(tag.raw for tag in tags[taken:])  # of a run without any text


def _sentence(
    text: str,
    begin: int,
    tags: list[Tag],
    protected: list[_Protected],
    form: Format,
    pair: LanguagePair,
) -> Iterator[str | Sentence]:
    """A sentence with names for its placeholders; where there are not enough, cut up at them."""
    without = [(one.first, one.last, "") for one in protected]
    rest = replaced(text, without)
    if not has_letter(rest):
        yield _literal(text, begin, tags, protected, form)
        return
    in_capitals = is_in_capitals(rest)
    if says_nothing(rest, pair.capitalizes_nouns):
        text = in_usual_case(text, pair.usual_case, keeps_acronyms=not in_capitals)
        rest = replaced(text, without)
    names = None
    if not _any_touches(text, protected):
        names = placeholders.stand_ins(rest, [one.original for one in protected])
    if names is not None:
        named = list(zip(protected, names, strict=True))
        places = [(one.first, one.last, name) for one, name in named]
        stand_ins = tuple(StandIn(name, one.original, one.written) for one, name in named)
        moved = shifted([tag.at - begin for tag in tags], places)
        placed = tuple(replace(tag, at=at) for tag, at in zip(tags, moved, strict=True))
        yield Sentence(replaced(text, places), placed, stand_ins, in_capitals)
        return
    at, taken = 0, 0
    for one in [*protected, _Protected(len(text), len(text), "", "")]:
        for stretch, end in ((text[at : one.first], one.first), (None, one.last)):
            inner = []
            while taken < len(tags) and tags[taken].at - begin <= end:
                inner.append(Tag(tags[taken].at - begin - at, tags[taken].raw, tags[taken].kind))
                taken += 1
            if stretch is None:
                yield "".join([one.written, *(tag.raw for tag in inner)])
            elif has_letter(stretch):
                core = stretch.strip()
                lead = len(stretch) - len(stretch.lstrip())
                placed = tuple(
                    Tag(min(max(tag.at - lead, 0), len(core)), tag.raw, tag.kind) for tag in inner
                )
                yield _written(stretch[:lead], form)
                yield Sentence(core, placed, (), in_capitals)
                yield _written(stretch[lead + len(core) :], form)
            else:
                yield _literal(stretch, 0, inner, [], form)
        at = one.last


def _any_touches(text: str, protected: Sequence[_Protected]) -> bool:
    """Whether names in these places would run into a word, or into one another."""
    beside = {text[max(0, one.first - 1) : one.first] for one in protected}
    beside |= {text[one.last : one.last + 1] for one in protected}
    return any(re.match(r"\w", one) for one in beside) or any(
        one.last == following.first for one, following in pairwise(protected)
    )


def _literal(
    text: str, begin: int, tags: Sequence[Tag], protected: Sequence[_Protected], form: Format
) -> str:
    """A stretch that is not translated, with its tags in their places."""
    places = sorted(
        [(tag.at - begin, tag.at - begin, tag.raw) for tag in tags]
        + [(one.first, one.last, one.written) for one in protected],
        key=lambda place: place[0],
    )
    parts, at = [], 0
    for first, last, raw in places:
        parts += [_written(text[at:first], form), raw]
        at = max(at, last)
    return "".join([*parts, _written(text[at:], form)])


def _protected(run: Run, begin: int, end: int, edges: Set[int], form: Format) -> list[_Protected]:
    """What comes through untouched between `begin` and `end`, counted from `begin`.

    What stands side by side, with no tag between (`edges` are their places), is one.
    """
    text = run.text[begin:end]
    inside = slice(*(bisect_left(run.protected, at, key=itemgetter(0)) for at in (begin, end)))
    marked = [
        _Protected(first - begin, last - begin, raw, raw)
        for first, last, raw in run.protected[inside]
    ]
    starts = [one.first for one in marked]  # of one character each
    found = [
        _Protected(first, last, text[first:last], _written(text[first:last], form))
        for first, last in placeholders.spans(text)
        if bisect_left(starts, first) == bisect_left(starts, last)
    ]
    touching: list[list[_Protected]] = []
    for one in sorted(marked + found, key=attrgetter("first")):
        if touching and touching[-1][-1].last == one.first and one.first + begin not in edges:
            touching[-1].append(one)
        else:
            touching.append([one])
    return [_joined(ones) if len(ones) > 1 else ones[0] for ones in touching]


def _joined(ones: Sequence[_Protected]) -> _Protected:
    """Stretches that touch, as one."""
    original = "".join(one.original for one in ones)
    return _Protected(ones[0].first, ones[-1].last, original, "".join(one.written for one in ones))


def _written(text: str, form: Format) -> str:
    """Plain text as the format writes it."""
    return text if form == "text" else elements.escape(text)


def _writer(form: Format, sentence: Sentence) -> Callable[[str], str]:
    originals = {one.name: one.written for one in sentence.stand_ins}
    return lambda text: placeholders.restore(_written(sentence.cased(text), form), originals)

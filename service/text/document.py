"""A text taken apart into sentences to translate and what lies between them, and put together again."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from service.text import stand_ins
from service.text.languages import Language
from service.text.markup import elements, plain
from service.text.markup.nesting import belongs, check_nesting, outermost, without_empty_elements
from service.text.markup.projection import project, tree
from service.text.pipeline import Pipeline
from service.text.run import Format, Protected, Run, Tag, replaced
from service.text.segmenter import Splitting, has_letter, split
from service.text.stand_ins import StandIn
from service.text.words import Alignment, Span

_MARK = re.compile(r"[^\w\ufffc]")
OnCount = Callable[[int], None]
"""Is told, again and again, how many sentences there are so far; what it raises ends the work."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is given to the model at once."""

    text: str
    """Plain, with stand-ins for what is protected."""
    tags: tuple[Tag, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    source: Run = field(default=Run())
    """What was cut out of the text, before rules for sentences prepared it."""
    pipeline: Pipeline = field(default=Pipeline())
    """The rules that its translation is restored by."""
    prefix: str = ""
    """With which its translation begins, exactly."""

    @property
    def names(self) -> list[str]:
        """Those of its stand-ins."""
        return [one.name for one in self.stand_ins]

    @property
    def pieces(self) -> list[str]:
        """Its text cut at its stand-ins, which are every second piece: what to translate apart from them."""
        return stand_ins.pieces(self.text, self.names)

    def came_through(self, translation: str) -> bool:
        """Whether all its stand-ins are in a translation, each once, and all that its rules demand."""
        if not stand_ins.came_through(translation, self.names):
            return False
        return self.pipeline.came_through(
            self.source, stand_ins.restored(Run(translation), self.stand_ins)
        )

    def protected(self) -> "Sentence | None":
        """The same with all protected that its rules can; None if that is no more, or too much."""
        source = self.pipeline.protect(self.source)
        prepared = stand_ins.joined(self.pipeline.prepare_sentence(source))
        found = stand_ins.stand_ins(prepared)
        if source is self.source or found is None:
            return None
        return replace(_named(source, prepared, found, self.pipeline)[1], prefix=self.prefix)

    def in_pieces(self) -> "Sentence":
        """The same with all protected that its rules can, to be translated in its `pieces` only."""
        source = self.pipeline.protect(self.source)
        prepared = stand_ins.joined(self.pipeline.prepare_sentence(source))
        return _named(source, prepared, stand_ins.unread(prepared), self.pipeline)[1]

    def translated(self, text: str, alignment: Alignment | None) -> Run:
        """What a model made of it, as it is to be read; with tags only where there is an alignment."""
        tags: Sequence[Tag] = ()
        if self.tags and alignment is not None:
            tags = project(tree(self.tags, len(self.text)), alignment)
        return self._restored(Run(text, tags, (), self.source.format))

    @property
    def written_by_client(self) -> str:
        """As it stands in the text, for messages."""
        return self.source.with_markup().text

    @property
    def original(self) -> str:
        """What was given to the model, without stand-ins."""
        return self._original().text

    def words(self, spans: Sequence[Span]) -> list[str]:
        """Its words, as they are in `original`."""
        return _stretches(self._original(spans))

    def readable(self, text: str) -> str:
        """A translation without tags."""
        return self.translated(text, None).with_markup().text

    def readable_words(self, text: str, spans: Sequence[Span]) -> list[str]:
        """The words of a translation, as they are in `readable`."""
        return _stretches(self._restored(Run(text, _edges(spans))).with_markup())

    def _original(self, spans: Sequence[Span] = ()) -> Run:
        return stand_ins.restored(Run(self.text, _edges(spans)), self.stand_ins).with_markup()

    def _restored(self, translation: Run) -> Run:
        restored = stand_ins.restored(translation, self.stand_ins)
        if self.prefix and restored.text.startswith(self.prefix):
            restored = restored.protecting([Protected(0, len(self.prefix))])
        return self.pipeline.restore(self.source, restored)


def _edges(spans: Sequence[Span]) -> list[Tag]:
    """Tags of nothing where stretches begin and end, so that they move with what is changed."""
    return [Tag(at, "", "void") for span in spans for at in span]


def _stretches(run: Run) -> list[str]:
    """What is between each two of its tags."""
    ends = [tag.at for tag in run.tags]
    return [run.text[begin:end] for begin, end in zip(ends[::2], ends[1::2], strict=True)]


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a request."""

    parts: tuple[str | Sentence, ...]
    """What comes out as it is, and the sentences."""
    problem: str = ""
    """Why it is not translated, if so."""

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return [part for part in self.parts if isinstance(part, Sentence)]

    def assemble(self, translations: Sequence[Run]) -> str:
        """The text again, with a translation for every sentence."""
        found = iter(translations)
        return "".join(
            part if isinstance(part, str) else next(found).written() for part in self.parts
        )


def take_apart(
    text: str,
    form: Format,
    splitting: Splitting = "all",
    ignored: Sequence[str] = (),
    pipeline: Pipeline | None = None,
    on_count: OnCount = lambda _: None,
) -> Document:
    """Take a text apart.

    Args:
        text: any text.
        form: what it is written in.
        splitting: where to cut it.
        ignored: names of elements whose text comes through untouched.
        pipeline: the rules; none, if it is missing.
        on_count: called for every run and every sentence.

    Raises:
        LimitExceededError: inline elements are nested more than `nesting.MAX_NESTING` deep.
    """
    pipeline = pipeline or Pipeline()
    runs = plain.parse(text) if form == "text" else elements.parse(text, form, ignored)
    parts: list[str | Sentence] = []
    sentences = 0
    for run in runs:
        on_count(sentences)
        if isinstance(run, str):
            parts.append(run)
            continue
        for part in _parts(pipeline.prepare_run(run), splitting, pipeline):
            parts.append(part)
            if not isinstance(part, str):
                sentences += 1
                on_count(sentences)
    return Document(tuple(part for part in parts if part != ""))


def _parts(run: Run, splitting: Splitting, pipeline: Pipeline) -> Iterator[str | Sentence]:
    """The parts of a run: its sentences, each with the tags that fall into it, and what is between."""
    check_nesting(run.tags)
    if run.tags:
        run = replace(run, tags=without_empty_elements(run.tags))
    for segment, is_sentence in _segments(run, splitting, pipeline.language):
        if is_sentence:
            yield from _sentence(segment, pipeline)
        else:
            yield segment.written()


def _segments(run: Run, splitting: Splitting, language: Language) -> Iterator[tuple[Run, bool]]:
    """The run cut into sentences and what is between, each with its own tags."""
    tags = run.tags
    at = tag = 0
    for segment in split(_masked(run), splitting, language):
        begin, at = at, at + len(segment.text)
        first_tag = tag
        while tag < len(tags) and belongs(tags[tag], begin, at, at == len(run.text)):
            tag += 1
        yield run.part(begin, at, tags[first_tag:tag]), segment.is_sentence
    if tag < len(tags):  # of a run without any text
        yield run.part(at, at, tags[tag:]), False


def _masked(run: Run) -> str:
    """The text of a run without marks in what is protected, where none ends a sentence; as long as it was."""
    return replaced(
        run.text,
        [
            (one.begin, one.end, _MARK.sub("_", run.text[one.begin : one.end]))
            for one in run.protected
        ],
    )


def _sentence(source: Run, pipeline: Pipeline) -> Iterator[str | Sentence]:
    """A sentence with stand-ins for what is protected; where there are not enough, cut up at it."""
    if not has_letter(source.unprotected()) or pipeline.leaves(source):
        yield source.written()
        return
    prepared = stand_ins.joined(pipeline.prepare_sentence(source))
    found = stand_ins.stand_ins(prepared)
    if found is None:
        for stretch in _between_protected(stand_ins.joined(source)):
            text = stretch.text
            lead, end = len(text) - len(text.lstrip()), len(text.rstrip())
            core = stretch.edited([(0, lead, ""), (max(lead, end), len(text), "")])
            yield stretch.escaped(text[:lead])
            yield from [core.written()] if core.protected else _sentence(core, pipeline)
            yield stretch.escaped(text[max(lead, end) :])
        return
    before, sentence, behind = _named(source, prepared, found, pipeline)
    yield from before
    yield sentence
    yield from behind


def _named(
    source: Run, prepared: Run, found: Sequence[StandIn], pipeline: Pipeline
) -> tuple[list[str], Sentence, list[str]]:
    """A sentence with these stand-ins, and the tags in front of and behind all of it."""
    places = [
        (one.begin, one.end, stand_in.name)
        for one, stand_in in zip(prepared.protected, found, strict=True)
    ]
    named = replace(prepared, protected=()).edited(places)
    before, inner, behind = outermost(list(named.tags), 0, len(named.text))
    return before, Sentence(named.text, tuple(inner), tuple(found), source, pipeline), behind


def _between_protected(run: Run) -> Iterator[Run]:
    """A run cut up at what is protected: what is before the first, it, what is before the next..."""
    tags, at, taken = run.tags, 0, 0
    for one in [*run.protected, Protected(len(run.text), len(run.text))]:
        for begin, end, protected in ((at, one.begin, False), (one.begin, one.end, True)):
            first = taken
            while taken < len(tags) and tags[taken].at <= end:
                taken += 1
            mine = [replace(tag, at=min(tag.at, end) - begin) for tag in tags[first:taken]]
            mine = [replace(tag, at=max(tag.at, 0)) for tag in mine]
            shields = [Protected(0, end - begin, one.raw)] if protected and end > begin else []
            yield Run(run.text[begin:end], mine, shields, run.format)
        at = one.end

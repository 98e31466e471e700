"""A sentence, prepared for a model, and the restoration of its translation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from service.text import stand_ins
from service.text.markup.nesting import belongs, outermost
from service.text.markup.projection import project, tree
from service.text.pipeline import Pipeline
from service.text.run import Run, Tag, replaced
from service.text.stand_ins import StandIn
from service.text.words import Alignment, Span, without_empty_words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as the model reads it, and as it was."""

    text: str
    """Plain text, with stand-ins for protected parts."""
    tags: tuple[Tag, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    stages: tuple[Run, ...] = (Run(),)
    """The sentence in the text, and the result of each rule for sentences."""
    pipeline: Pipeline = field(default=Pipeline())
    """The rules that restore its translation."""
    prefix: str = ""
    """The forced beginning of its translation, in which stand-ins replace protected parts."""
    around: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Tags that enclose the whole sentence, which are not part of it: opening and closing."""
    problem: str = ""
    """Which part of it stays untranslated, and why; "" if none does."""
    attempt: int = 0
    """Number of translations in which its stand-ins were lost; each is followed by one with another kind."""

    @property
    def source(self) -> Run:
        """The sentence in the text."""
        return self.stages[0]

    @property
    def as_written(self) -> str:
        """The sentence in the text, with its markup."""
        return self.source.with_markup().text

    @property
    def pieces(self) -> list[str]:
        """The text split at its stand-ins, which are every second piece; the others are translated."""
        return stand_ins.pieces(self.text, self.stand_ins)

    def beginning(self, prefix: str) -> "Sentence":
        """Return the same sentence for a translation that begins with `prefix`."""
        is_taken = any(stand_in.name in prefix for stand_in in self.stand_ins)
        other = self._prepared(self.source, avoid=prefix) if is_taken else None
        sentence = other or self
        return replace(sentence, prefix=stand_ins.put_in(prefix, sentence.stand_ins))

    def came_through(self, translation: str) -> bool:
        """Check that a translation has each stand-in exactly once, and everything that the rules demand.

        The prefix may be part of that or not.
        """
        if not stand_ins.came_through(translation, self.stand_ins) or self._has_token(translation):
            return False
        texts = dict.fromkeys([translation, translation.removeprefix(self.prefix)])
        return any(self._holds_all(self._with_originals(text)) for text in texts)

    def _has_token(self, translation: str) -> bool:
        """Check whether a translation has a token for stand-ins that this sentence does not use."""
        if "<" not in translation:
            return False
        own_text = f"{self.text} {self.prefix}"
        return any(
            token in translation and token not in own_text
            for token in self.pipeline.stand_in_tokens
        )

    def _holds_all(self, restored: Run) -> bool:
        if stand_ins.num_joints(restored) > stand_ins.num_joints(self.source):
            return False
        return self.pipeline.came_through(self.source, restored)

    def with_more_protected(self, translation: str) -> "Sentence | None":
        """Return the sentence with other stand-ins if these were lost, and with more protected parts.

        If only stand-ins were lost, nothing more is protected; otherwise, everything that its rules can
        protect. None if nothing would be different, or if there are not enough stand-ins.

        Args:
            translation: the translation that failed `came_through`.
        """
        source, attempt = self.source, self.attempt
        if not stand_ins.came_through(translation, self.stand_ins):
            attempt += 1
        if attempt == self.attempt or not self._holds_all(self._with_originals(translation)):
            source = self._protected(translation)
        if source is self.source and attempt == self.attempt:
            return None
        prefix = self._begins_with
        sentence = self._prepared(source, avoid=prefix, attempt=attempt)
        return sentence.beginning(prefix) if sentence and sentence.around == self.around else None

    def in_pieces(self, translation: str) -> "Sentence | None":
        """Return the sentence with everything protected, to be translated in `pieces`.

        None if there is nothing to protect, or if the prefix extends beyond the first piece.
        """
        # again for an empty translation, which lacks everything
        everything = self.pipeline.protect(self._protected(translation), Run())
        sentence = self._prepared(everything, for_pieces=True)
        if sentence is None or not sentence.stand_ins or sentence.around != self.around:
            return None
        sentence = sentence.beginning(self._begins_with)
        return sentence if sentence.prefix == self._begins_with else None

    def in_clauses(self) -> "list[Sentence]":
        """Return the clauses of a long sentence, each prepared as a sentence; none if it cannot be cut."""
        runs = list(self._clauses())
        clauses = [clause for run in runs if (clause := self._prepared(run))]
        if len(runs) < 2 or len(clauses) < len(runs):
            return []
        return [clauses[0].beginning(self._begins_with), *clauses[1:]]

    def _clauses(self) -> Iterator[Run]:
        """Yield the clauses of the source; those between which an element begins or ends are one."""
        source, (before, behind) = self.source, self.around
        first_inner, end_inner = len(before), len(source.tags) - len(behind)
        raws = tuple(tag.raw for tag in source.tags)
        if (raws[:first_inner], raws[end_inner:]) != self.around:
            return  # quotes, for example, which only a rule takes out of the text
        tags = source.tags[first_inner:end_inner]
        wholes = [(one.begin, one.end, "_" * (one.end - one.begin)) for one in source.protected]
        text = replaced(source.text, wholes)
        begin: int | None = None
        end = first = last = 0
        for clause in self.pipeline.clauses.cut(text):
            start = text.index(clause, end)
            begin, end = start if begin is None else begin, start + len(clause)
            while last < len(tags) and belongs(tags[last], start, end, end == len(text)):
                last += 1
            if end == len(text) or not sum(tag.depth for tag in tags[first:last]):
                moved = [replace(tag, at=max(tag.at, begin)) for tag in tags[first:last]]
                yield source.part(begin, end, moved)
                begin, first = None, last

    def _prepared(
        self, source: Run, for_pieces: bool = False, avoid: str = "", attempt: int | None = None
    ) -> "Sentence | None":
        attempt = self.attempt if attempt is None else attempt
        return prepared(source, self.pipeline, for_pieces, avoid, self.problem, attempt)

    @property
    def _begins_with(self) -> str:
        """The prefix with its stand-ins replaced."""
        return self._with_originals(self.prefix).text

    def _protected(self, translation: str) -> Run:
        return self.pipeline.protect(self.source, self._with_originals(translation))

    def _with_originals(self, translation: str) -> Run:
        """Replace the stand-ins of a translation."""
        return stand_ins.restored(Run(translation), self.stand_ins)

    def translated(self, text: str, alignment: Alignment | None) -> Run:
        """Restore a translation; its tags need an alignment."""
        tags: Sequence[Tag] = ()
        if self.tags and alignment is not None:
            tags = project(tree(self.tags, len(self.text)), alignment)
        return self._restored(Run(text, tags, (), self.source.format))

    def readable(self, text: str) -> str:
        """Restore a translation without tags, and return its text."""
        return self.translated(text, None).with_markup().text

    def wholes(self, translation: str) -> list[Span]:
        """Return the stretches of a translation that no tag may cut: the placeholders in its prefix."""
        if not self.prefix or not translation.startswith(self.prefix):
            return []
        protected = self.pipeline.placeholders.prepare(Run(self.prefix)).protected
        return [(part.begin, part.end) for part in protected]

    def shown(self, alignment: Alignment) -> tuple[list[str], list[str], NDArray[np.float32]]:
        """Return an alignment's words of source and translation, with stand-ins replaced, and its weights.

        To an alignment, a stand-in may be several words; what it replaces is one.
        """
        sources = self.words(alignment.source_spans)
        targets = self.readable_words(alignment.target, alignment.target_spans)
        return without_empty_words(sources, targets, alignment.weights)

    def words(self, spans: Sequence[Span]) -> list[str]:
        """Return the words at `spans`, with stand-ins replaced."""
        run = stand_ins.restored(Run(self.text, _edges(spans)), self.stand_ins)
        return _stretches(run.with_markup())

    def readable_words(self, text: str, spans: Sequence[Span]) -> list[str]:
        """Return the words at `spans` of a translation, in the form they have in `readable`."""
        return _stretches(self._restored(Run(text, _edges(spans))).with_markup())

    def _restored(self, translation: Run) -> Run:
        has_prefix = self.prefix and translation.text.startswith(self.prefix)
        length = len(self._begins_with) if has_prefix else 0
        restored = stand_ins.restored(translation, self.stand_ins)
        if length:  # protected between its tags, which may mark the edges of words
            edges = {0, length, *(tag.at for tag in restored.tags if tag.at < length)}
            restored = restored.protecting(pairwise(sorted(edges)))
        return self.pipeline.restore(self.stages, restored)


def prepared(
    source: Run,
    pipeline: Pipeline,
    for_pieces: bool = False,
    avoid: str = "",
    problem: str = "",
    attempt: int = 0,
) -> Sentence | None:
    """Prepare a sentence for a model; return None if there are not enough stand-ins.

    With `for_pieces`, the model does not read the stand-ins, so there are always enough. Stand-ins that occur
    in `avoid` are not used. `problem` and `attempt` are those of the sentence.
    """
    *stages, last = pipeline.prepare_sentence(source)
    last = stand_ins.joined(last)
    if for_pieces:
        chosen: list[StandIn] | None = stand_ins.for_pieces(last)
    else:
        chosen = stand_ins.for_model(last, pipeline.stand_in_kinds, avoid, attempt)
    if chosen is None:
        return None
    read = last
    if chosen:
        places = [
            (part.begin, part.end, stand_in.name)
            for part, stand_in in zip(last.protected, chosen, strict=True)
        ]
        read = replace(last, protected=()).edited(places)
    tags_before, tags, tags_after = outermost(read.tags, len(read.text))
    return Sentence(
        read.text,
        tags,
        tuple(chosen),
        (*stages, last),
        pipeline,
        around=(tags_before, tags_after),
        problem=problem,
        attempt=attempt,
    )


def _edges(spans: Sequence[Span]) -> list[Tag]:
    """Return empty tags at both ends of each span, which move along when the text is changed."""
    return [Tag(position, "", "void") for span in spans for position in span]


def _stretches(run: Run) -> list[str]:
    """Return the text between each pair of tags."""
    ends = [tag.at for tag in run.tags]
    return [run.text[begin:end] for begin, end in zip(ends[::2], ends[1::2], strict=True)]

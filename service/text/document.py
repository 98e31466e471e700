"""Splits a text into sentences and everything between them, and reassembles it with translations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

from service.errors import TextTooLongError
from service.text import stand_ins
from service.text.escaped_characters import are_escaped, escaped, unescaped
from service.text.languages import Language
from service.text.markup import elements, labels, messages, plain, rows
from service.text.markup.messages import OUTSIDE, Arguments, Scope
from service.text.markup.nesting import belongs, check_nesting, without_empty_elements
from service.text.pipeline import Pipeline
from service.text.run import Format, Run, replaced
from service.text.segmenter import Splitting, has_letter, split
from service.text.sentence import Sentence, prepared

_MARK = re.compile(r"[^\w\ufffc]")


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a request."""

    parts: tuple[str | Sentence, ...]
    """The sentences, and the text between them, which is preserved."""
    error: TextTooLongError | None = None
    """Why the text cannot be translated; None if it can."""
    written: str = ""
    """The text if its characters beyond ASCII are escaped in it."""

    @classmethod
    def of(cls, parts: Iterable[str | Sentence], text: str, form: Format) -> Self:
        """Return a document of the parts of this text, without empty ones."""
        written = text if are_escaped(text, form) else ""
        return cls(tuple(part for part in parts if part != ""), written=written)

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return [part for part in self.parts if isinstance(part, Sentence)]

    def assemble(self, translations: Sequence[Run]) -> str:
        """Return the text with a translation in place of every sentence."""
        return self.filled([translation.written() for translation in translations])

    def filled(self, written: Sequence[str]) -> str:
        """Do the same with translations as they are written in the text's format."""
        remaining = iter(written)
        text = "".join(part if isinstance(part, str) else next(remaining) for part in self.parts)
        return escaped(text, self.written) if self.written else text


def take_apart(
    text: str,
    form: Format,
    splitting: Splitting = "all",
    ignored: Sequence[str] = (),
    pipeline: Pipeline | None = None,
) -> Document:
    """Split a whole text; see `parts_of`. Without a pipeline, no rules are applied."""
    parts = parts_of(text, form, splitting, ignored, pipeline or Pipeline())
    return Document.of(parts, text, form)


def parts_of(
    text: str, form: Format, splitting: Splitting, ignored: Sequence[str], pipeline: Pipeline
) -> Iterator[str | Sentence]:
    """Yield the sentences of a text, and the text between them, as they are found.

    Args:
        text: any text.
        form: its format.
        splitting: where to split it.
        ignored: names of elements whose text is preserved unchanged.
        pipeline: the rules.

    Raises:
        TextTooDeepError: inline elements are nested more than `nesting.MAX_NESTING` deep.
    """
    if are_escaped(text, form):
        text = unescaped(text)
    parsed = plain.parse(text) if form == "text" else elements.parse(text, form, ignored)
    texts = [run.unprotected() for run in parsed if isinstance(run, Run)]
    return _parts(parsed, OUTSIDE, splitting, pipeline.adapted(texts))


def _parts(
    parsed: Iterable[str | Run], scope: Scope, splitting: Splitting, pipeline: Pipeline
) -> Iterator[str | Sentence]:
    """Yield the parts of a parsed text, which is in the arguments of `scope`."""
    for content in parsed:
        for run in _labels(content, splitting, pipeline.language):
            if isinstance(run, str):
                yield run
            else:
                yield from _parts_of_run(pipeline.prepare_run(run), scope, splitting, pipeline)


def _labels(content: str | Run, splitting: Splitting, language: Language) -> Iterator[str | Run]:
    """Split a run at its last link, and at labels of paths and rows that rules might read as prose."""
    if isinstance(content, str):
        yield content
        return
    runs = [content] if splitting == "none" else rows.without_last_link(content, language)
    for run in runs:
        elements_of_row = rows.cut_labels(run)
        found = [
            label
            for element in elements_of_row
            for label in ([element] if isinstance(element, str) else labels.cut(element, splitting))
        ]
        yield from found if len(found) > len(elements_of_row) else [run]


def _parts_of_run(
    run: Run, scope: Scope, splitting: Splitting, pipeline: Pipeline
) -> Iterator[str | Sentence]:
    """Yield the sentences of a run, each with its tags, and the text between them."""
    if run.tags:
        check_nesting(run.tags)
        run = replace(run, tags=without_empty_elements(run.tags))
        if len(elements_of_row := rows.cut_labels(run)) > 1:
            for element in elements_of_row:
                if isinstance(element, str):
                    yield element
                else:
                    yield from _parts_of_run(element, scope, "none", pipeline)
            return
    for segment, is_sentence in _segments(run, splitting, pipeline.language):
        arguments = messages.with_branches(segment)
        if pieces := messages.cut(segment, arguments, scope):
            for piece in pieces:
                if isinstance(piece, str):
                    yield piece
                else:
                    parsed = plain.parse(piece.text, piece.scope)
                    yield from _parts(parsed, piece.scope, splitting, pipeline)
        elif not is_sentence:
            yield pipeline.kept(segment).written()
        elif segment.tags:
            yield from _parts_of_row(segment, arguments, pipeline)
        else:
            yield from _sentence(segment, pipeline, messages.problem(arguments))


def _parts_of_row(
    segment: Run, arguments: Arguments, pipeline: Pipeline
) -> Iterator[str | Sentence]:
    """Yield the parts of a sentence with tags, which may be a row, and with these arguments."""
    for piece in rows.cut(segment):
        if isinstance(piece, str):
            yield piece
        elif piece is segment:
            yield from _sentence(piece, pipeline, messages.problem(arguments))
        else:
            for part, is_sentence in _segments(piece, "none", pipeline.language):
                if is_sentence:
                    problem = messages.problem(messages.with_branches(part))
                    yield from _sentence(part, pipeline, problem)
                else:
                    yield pipeline.kept(part).written()


def _segments(run: Run, splitting: Splitting, language: Language) -> Iterator[tuple[Run, bool]]:
    """Split a run into sentences and the text between them; the second result is whether it is a sentence."""
    tags = run.tags
    end = next_tag = 0
    for segment in split(_masked(run), splitting, language):
        start, end = end, end + len(segment.text)
        first_tag = next_tag
        while next_tag < len(tags) and belongs(tags[next_tag], start, end, end == len(run.text)):
            next_tag += 1
        is_all = end - start == len(run.text)
        segment_run = run if is_all else run.part(start, end, tags[first_tag:next_tag])
        yield segment_run, segment.is_sentence
    if next_tag < len(tags):  # the run has no text
        yield run.part(end, end, tags[next_tag:]), False


def _masked(run: Run) -> str:
    """Replace punctuation in protected parts, where it does not end sentences; the length is unchanged."""
    return replaced(
        run.text,
        [
            (part.begin, part.end, _MARK.sub("_", run.text[part.begin : part.end]))
            for part in run.protected
        ],
    )


def _sentence(source: Run, pipeline: Pipeline, problem: str) -> Iterator[str | Sentence]:
    """Prepare a sentence; if there are not enough stand-ins, split it at its protected parts."""
    if not has_letter(source.unprotected()):
        yield pipeline.kept(source).written()
        return
    if pipeline.leaves(source):
        yield source.written()
        return
    sentence = prepared(source, pipeline, problem=problem)
    if sentence is not None:
        tags_before, tags_after = sentence.around
        yield from tags_before
        yield sentence
        yield from tags_after
        return
    for piece in _between_protected(stand_ins.joined(source)):
        text = piece.text
        core_start = len(text) - len(text.lstrip())
        core_end = max(core_start, len(text.rstrip()))
        core = piece.edited([(0, core_start, ""), (core_end, len(text), "")])
        yield piece.escaped(text[:core_start])
        yield from [core.written()] if core.protected else _sentence(core, pipeline, problem)
        yield piece.escaped(text[core_end:])


def _between_protected(run: Run) -> Iterator[Run]:
    """Split a run at its protected parts; every second piece is one."""
    edges = [0, *(edge for part in run.protected for edge in (part.begin, part.end)), len(run.text)]
    first_tag = 0
    for start, end in pairwise(edges):
        last_tag = first_tag
        while last_tag < len(run.tags) and (run.tags[last_tag].at <= end or end == len(run.text)):
            last_tag += 1
        tags = [replace(tag, at=max(tag.at, start)) for tag in run.tags[first_tag:last_tag]]
        yield run.part(start, end, tags)
        first_tag = last_tag

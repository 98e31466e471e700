"""One request's way from text to text with one model: sentences, ids, search, text. Knows nothing of HTTP."""

import asyncio
import time
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from service.aligner import Aligner
from service.beside import Check, run_in_thread
from service.bundle import Bundle, Direction
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    InvalidRequestError,
    LimitExceededError,
    RefusedError,
)
from service.preparation import Preparation, Task, decoding_options
from service.searcher import Finish, Found, Searcher
from service.text.casing import begun_alike
from service.text.clauses import join
from service.text.document import Document
from service.text.segmenter import has_letter
from service.text.tokenizer import Tokenizers
from service.text.words import words_of
from service.translation import OnSentence, TranslatedSentence, Translation, TranslationOptions

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]
Kind = TypeVar("Kind")
Result = TypeVar("Result")

CHARACTERS_ON_LOOP, CHARACTERS_A_TEXT = 1_500, 50
"""Longer requests are cut, tokenized and put together on another thread, so that the event loop stays free.

A text takes as long as so many characters, even an empty one.
"""


class Translator:
    """Translates with one bundle."""

    def __init__(
        self,
        bundle: Bundle,
        tokenizers: Tokenizers,
        searcher: Searcher,
        aligner: Aligner,
        max_beam_size: int,
        rerank: bool = True,
        on_outcome: Callable[[str, Outcome, int], None] = lambda *_: None,
        on_prepared: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Put the parts together; `max_beam_size` and whether to `rerank` is up to the operator.

        `on_outcome` is told the direction, the outcome and the number of sentences of every request;
        `on_prepared` how many seconds it took to make these sentences of its texts.
        """
        self.manifest = bundle.manifest
        directions = self.manifest.directions
        self.names = {direction: bundle.names(direction) for direction in directions}
        self.abbreviations = {one: bundle.abbreviations(one) for one in directions}
        self.tokenizers, self.searcher, self.aligner = tokenizers, searcher, aligner
        self.max_beam_size, self.rerank = max_beam_size, rerank
        self.on_outcome, self.on_prepared = on_outcome, on_prepared

    async def translate(
        self,
        texts: Items[str],
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
        on_sentence: OnSentence | None = None,
    ) -> list[Translation]:
        """Translate every text, all sentences of all of them in flight together.

        Args:
            texts: any texts; their layout comes back as it was.
            direction: one of this bundle's.
            options: of the texts and of the search.
            deadline: by the engine's clock, in seconds, when it is given up.
            on_sentence: told each sentence once, as soon as it is done.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        request = self._preparation(direction, options)
        size = sum(map(len, texts)) + CHARACTERS_A_TEXT * len(texts)
        run = partial(self._run, size > CHARACTERS_ON_LOOP, deadline)
        with self._counted(direction, len(texts)) as count:
            self.searcher.check_deadline(deadline)  # before it costs anything
            documents, tasks = await run(lambda check: self._prepare(request, texts, check))
            count.sentences = len(tasks)
            teller = _Teller(documents, on_sentence)

            def on_found(at: int, found: list[Found]) -> None:
                decoded = self._decoded(tasks[at], found, direction)
                if decoded.finish != "copied":  # else it may yet be mended
                    teller.tell(at, decoded)

            ranks = options.alternatives + 1
            aligned = [task.sentence.text for task in tasks if options.align or task.sentence.tags]
            with self.aligner.promised(aligned, ranks) as promise:
                tell = on_found if on_sentence else None
                found = await self._search(tasks, deadline, promise.seconds, tell)
                translated = await run(partial(self._all_decoded, tasks, found, direction))
                await self._mend_lost(translated, request, deadline)
                teller.tell_the_rest(translated)
                if aligned:
                    translated = await self.aligner.align(
                        translated, direction.tag, options.align, deadline, promise
                    )
            return await run(lambda check: _assemble(documents, translated, ranks, check))

    async def _run(self, is_long: bool, deadline: float, work: Callable[[Check], Result]) -> Result:
        """The result of work on the CPU: at once, or from another thread."""
        if is_long:
            return await run_in_thread(work, self.searcher.engine.clock, deadline)
        return work(lambda: None)

    @contextmanager
    def _counted(self, direction: Direction, texts: int) -> Iterator["_Count"]:
        """Tell `on_outcome` how what is inside ends, unless the request turns out to be wrong.

        Until its sentences are known, each text counts as one.
        """
        name, count = f"{direction.source}-{direction.target}", _Count(texts)
        try:
            yield count
        except InvalidRequestError:
            raise
        except BaseException as error:
            self.on_outcome(name, _outcome(error), count.sentences)
            raise
        self.on_outcome(name, "ok", count.sentences)

    def _preparation(self, direction: Direction, options: TranslationOptions) -> Preparation:
        manifest, abbreviations = self.manifest, self.abbreviations[direction]
        decoding = decoding_options(manifest, direction, options, self.max_beam_size, self.rerank)
        return Preparation(manifest, self.tokenizers, direction, options, decoding, abbreviations)

    def _prepare(
        self, request: Preparation, texts: Items[str], check: Check
    ) -> tuple[list[Document], list[Task]]:
        """The texts taken apart, and what is asked for each of their sentences; on the clock.

        Raises:
            LimitExceededError: there are more sentences than a search may have; told as soon as there are.
        """
        started, max_sentences = time.perf_counter(), self.searcher.most_sentences

        def counted(sentences: int) -> None:
            check()
            if sentences > max_sentences:
                raise LimitExceededError(
                    f"Invalid request: it has more than {max_sentences} sentences, which is the limit"
                )

        documents, tasks = request.take_apart(texts, counted)
        self.on_prepared(time.perf_counter() - started)
        return documents, tasks

    async def _search(
        self,
        tasks: Items[Task],
        deadline: float,
        seconds_after: float,
        on_found: Callable[[int, list[Found]], None] | None,
    ) -> list[list[Found]]:
        """What is found for the clauses of each; `on_found` is told of a sentence once it has them all.

        By the deadline, other work of so many `seconds_after` the search must be done, too.
        """
        owners = [number for number, task in enumerate(tasks) for _ in task.work]
        so_far: list[dict[int, Found]] = [{} for _ in tasks]

        def on_clause(at: int, found: Found) -> None:
            assert on_found is not None
            mine = so_far[owners[at]]
            mine[at] = found
            if len(mine) == len(tasks[owners[at]].work):
                on_found(owners[at], [mine[place] for place in sorted(mine)])

        work = [one for task in tasks for one in task.work]
        tell = on_clause if on_found else None
        found = await self.searcher.search(work, deadline, tell, seconds_after)
        rest = iter(found)
        return [[next(rest) for _ in task.work] for task in tasks]

    def _all_decoded(
        self, tasks: Items[Task], found: Items[list[Found]], direction: Direction, check: Check
    ) -> list[TranslatedSentence]:
        """Those of all sentences."""
        translated = []
        for task, clauses in zip(tasks, found, strict=True):
            check()
            translated.append(self._decoded(task, clauses, direction))
        return translated

    def _decoded(self, task: Task, found: list[Found], direction: Direction) -> TranslatedSentence:
        """The texts of a sentence's hypotheses, those that are empty or lost a placeholder left out.

        The n-th one of a sentence is made of the n-th best of its clauses.
        """
        tokenizer, sentence = self.tokenizers.target, task.sentence
        names, stand_ins = self.names[direction], {one.name for one in sentence.stand_ins}
        texts = [tokenizer.decode([one.ids for one in clause.hypotheses]) for clause in found]
        prefixed, kept = any(options.target_prefix for _, options in task.work), []
        for rank in range(max(map(len, texts))):
            parts = [_ranked(clause, rank) for clause in texts]
            text = join(task.clauses, parts, tokenizer.within) if all(parts) else ""
            score = sum(_ranked(clause.hypotheses, rank).score for clause in found)
            if text and sentence.came_through(text):
                text = names.mended(sentence.text, text, stand_ins)
                kept.append((text if prefixed else begun_alike(sentence.text, text), score))
        if not kept:
            score = sum(clause.hypotheses[0].score for clause in found)
            return TranslatedSentence(sentence, (sentence.text,), (score,), "copied")
        targets, scores = zip(*kept, strict=True)
        finish: Finish = next((clause.finish for clause in found if clause.finish != "end"), "end")
        return TranslatedSentence(sentence, targets, scores, finish)

    async def _mend_lost(
        self,
        translated: list[TranslatedSentence],
        request: Preparation,
        deadline: float,
    ) -> None:
        """Translate in pieces the sentences whose placeholders were lost; changes `translated`."""
        lost = {
            at: one.sentence.pieces
            for at, one in enumerate(translated)
            if one.finish == "copied" and one.sentence.stand_ins
        }
        places = [
            (pieces, at)
            for pieces in lost.values()
            for at in range(0, len(pieces), 2)  # between are the placeholders
            if has_letter(pieces[at])
        ]
        most_tokens = request.decoding.max_decoding_length
        work = [
            request.work(words_of(pieces[at])[1], most_tokens, num_hypotheses=1)
            for pieces, at in places
        ]
        found, at_once = [], self.searcher.most_sentences
        for start in range(0, len(work), at_once):
            found += await self.searcher.search(work[start : start + at_once], deadline)
        for (pieces, at), result in zip(places, found, strict=True):
            before, core, behind = words_of(pieces[at])
            [text] = self.tokenizers.target.decode([result.hypotheses[0].ids])
            pieces[at] = f"{before}{text.rstrip('.') or core}{behind}"
        for at, pieces in lost.items():
            translated[at] = replace(translated[at], targets=("".join(pieces),), finish="pieces")


@dataclass(slots=True)
class _Count:
    """Sentences of a request."""

    sentences: int


def _outcome(error: BaseException) -> Outcome:
    """How a request that failed so is counted."""
    if isinstance(error, RefusedError):
        return "rejected"
    if isinstance(error, DeadlineExceededError):
        return "expired"
    is_given_up = isinstance(error, AbandonedError | asyncio.CancelledError)
    return "cancelled" if is_given_up else "error"


class _Teller:
    """Tells the sentences of some documents, each once, as they are done."""

    def __init__(self, documents: Items[Document], on_sentence: OnSentence | None) -> None:
        self.on_sentence = on_sentence
        self.places = [
            (text, segment)
            for text, document in enumerate(documents)
            for segment in range(len(document.sentences))
        ]
        self.told: set[int] = set()

    def tell(self, at: int, one: TranslatedSentence) -> None:
        """Tell a sentence, unless it has been told."""
        if self.on_sentence is None or at in self.told:
            return
        self.told.add(at)
        restored = one.sentence.restored
        self.on_sentence(*self.places[at], restored(one.sentence.text), restored(one.targets[0]))

    def tell_the_rest(self, translated: Items[TranslatedSentence]) -> None:
        """Tell those that have not been told."""
        for at, one in enumerate(translated):
            self.tell(at, one)


def _assemble(
    documents: Items[Document], translated: Items[TranslatedSentence], count: int, check: Check
) -> list[Translation]:
    """Sentences back to texts: the n-th alternative of a text is made of its sentences' n-th best."""
    rest = iter(translated)
    translations = []
    for document in documents:
        sentences = tuple(next(rest) for _ in document.sentences)
        ranks = []
        for rank in range(count):
            check()
            targets = [_ranked(one.targets, rank) for one in sentences]
            alignments = [
                _ranked(one.alignments, rank) if one.alignments else None for one in sentences
            ]
            ranks.append(document.assemble(targets, alignments))
        others = tuple(dict.fromkeys(text for text in ranks[1:] if text != ranks[0]))
        translations.append(Translation(ranks[0], others, sentences))
    return translations


def _ranked(found: Items[Kind], rank: int) -> Kind:
    """The one of that rank, or the last."""
    return found[min(rank, len(found) - 1)]

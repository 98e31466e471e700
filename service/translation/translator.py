"""Translates requests with one model, from text to sentences, ids and back. Independent of HTTP."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from types import TracebackType
from typing import Literal, Self, TypeVar

from service.engine.safety import LEAST_MARGIN
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    InvalidRequestError,
    QueueFullError,
    RefusedError,
)
from service.fair_queue import FairQueue
from service.models.bundle import Bundle, Direction
from service.models.observer import Observer
from service.text.document import Document
from service.text.tokenizer import Tokenizers
from service.threads import Threads
from service.translation.aligner import Aligner
from service.translation.backlog import Backlog
from service.translation.decoded import Decoded, finished, ranked
from service.translation.decoding import SearchPolicy, decoding_options
from service.translation.effort import EFFORT_ON_LOOP, effort_of
from service.translation.offload import Check, run_in_thread, timed
from service.translation.options import TranslationOptions
from service.translation.preparation import Preparation, SizeLimit, Task
from service.translation.searcher import Searcher
from service.translation.sentence_translator import OffLoop, SentenceTranslator, Translated
from service.translation.streaming import OnSentence
from service.translation.types import SentenceResult, Translation
from service.translation.unknown_words import UnknownWords

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]
Result = TypeVar("Result")

FIRST_PIPELINES, MAX_PIPELINES = 16, 1_000
"""Number of directions whose rules are built at the start, and whose rules are cached."""
MAX_PREPARATIONS = 100
"""Number of cached preparations: most requests have the same direction and options."""
TEXT_THREADS = 1
"""Threads that read texts. The interpreter runs one at a time, and more would delay the event loop."""


class ModelTranslator:
    """Translates with one bundle."""

    def __init__(
        self,
        bundle: Bundle,
        tokenizers: Tokenizers,
        searcher: Searcher,
        aligner: Aligner,
        policy: SearchPolicy,
        observer: Observer | None = None,
    ) -> None:
        """Combine the parts; the observer is notified of preparations and of every request's outcome."""
        self.manifest = bundle.manifest
        # built on demand: a model for many languages has thousands of directions
        self.pipeline = lru_cache(MAX_PIPELINES)(bundle.pipelines(tokenizers))
        self._memory = lru_cache(MAX_PIPELINES)(bundle.memory)
        for direction in self.manifest.directions[:FIRST_PIPELINES]:
            self.pipeline(direction)  # so that errors in tables are found at the start
            self._memory(direction)
        self._cached_preparation = lru_cache(MAX_PREPARATIONS)(self._make_preparation)
        self.tokenizers, self.searcher, self.aligner = tokenizers, searcher, aligner
        self.policy, self.observer = policy, observer or Observer()
        self._backlog = Backlog(TEXT_THREADS)  # see `effort_of`
        self._threads, self._queue = Threads(TEXT_THREADS, "texts"), FairQueue()
        self._threads.start()

    def close(self) -> None:
        """Accept no more work; the threads end when they have finished theirs."""
        self._threads.shutdown(wait=False)
        self.aligner.close()

    def sentence_translator(
        self, searcher: Searcher, request: Preparation, deadline: float, off_loop: OffLoop
    ) -> SentenceTranslator:
        """Return a translator for the sentences of a request."""
        unknown_id, direction = self.tokenizers.target.unknown_id, request.direction
        unknown_words = UnknownWords(self.aligner, unknown_id, direction)
        return SentenceTranslator(
            searcher, self.tokenizers, unknown_words, request, deadline, off_loop
        )

    async def translate(
        self,
        texts: Sequence[str],
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
        searcher: Searcher | None = None,
        on_sentence: OnSentence | None = None,
        is_further: bool = False,
    ) -> list[Translation]:
        """Translate texts; all sentences of all texts are translated concurrently.

        Args:
            texts: any texts; their layout is preserved.
            direction: one of the bundle's.
            options: of the texts and of the search.
            deadline: by the engine's clock, in seconds.
            searcher: used instead of the translator's own, because it has some of the sentences in its cache.
            on_sentence: called with each sentence as soon as it is translated.
            is_further: whether this is the second half of an admitted request, which must not be refused.

        Raises:
            InvalidRequestError: the request exceeds a limit, or an option is not possible with this model.
            RefusedError, AbandonedError, EngineError: see `service.errors`.
        """
        request = self.preparation(direction, options)
        searcher = searcher or self.searcher
        effort = effort_of(texts) + len(options.target_prefix) * len(texts)
        ranks = options.alternatives + 1
        run = partial(self.run, ranks * effort, deadline)
        sentences = self.sentence_translator(searcher, request, deadline, run)
        with _Counted(self.observer, direction, len(texts)) as count:
            if not is_further:
                searcher.check_deadline(deadline)  # before any work is done
            documents, tasks = await self.prepared(request, texts, effort, deadline, is_further)
            count.sentences = len(tasks)
            align = options.align and self.aligner.attention is not None
            sources = [task.sentence for task in tasks]
            aligned = [
                one.text for one in sources for _ in range(ranks if one.tags else int(align))
            ]
            with self.aligner.promised(aligned) as promise:
                report = _reporter(documents, on_sentence) if on_sentence else None
                found = await sentences.translate(tasks, promise.seconds, report, is_further)
                decoded = [found[index] for index in range(len(tasks))]
                if aligned:
                    parts = [part for sentence in decoded for part in sentence.parts]
                    own = iter(
                        await self.aligner.align(parts, direction.around, align, deadline, promise)
                    )
                    decoded = [
                        replace(one, parts=tuple(islice(own, len(one.parts)))) for one in decoded
                    ]
            return await run(partial(_assemble, documents, decoded, ranks))

    def check_deadline(self, direction: Direction, texts: Sequence[str], timeout: float) -> None:
        """Check whether the second half of a request could be done in `timeout` seconds.

        Raises:
            QueueFullError: it could not; `retry_after` is the expected wait.
        """
        try:
            self.searcher.check_deadline(self.searcher.engine.clock() + timeout)
        except QueueFullError:
            self.observer.on_outcome(_name(direction), "rejected", len(texts))
            raise

    async def prepared(
        self,
        request: Preparation,
        texts: Sequence[str],
        effort: int,
        deadline: float,
        is_further: bool,
    ) -> tuple[list[Document], list[Task]]:
        """Split texts, and prepare their sentences; see `effort_of` and `translate`.

        Raises:
            QueueFullError: the texts of other requests would take until the deadline.
            LimitExceededError: there are too many sentences or tokens for a search.
        """
        prepare = timed(partial(request.take_apart, texts))
        if effort <= EFFORT_ON_LOOP:
            prepared, seconds = prepare(lambda: None)
            self.observer.on_prepared(seconds)
            return prepared
        with self._backlog.promised(effort) as promise:
            seconds_left = deadline - self.searcher.engine.clock()
            longest = LEAST_MARGIN * promise.seconds
            if not is_further and longest > seconds_left:
                raise QueueFullError(
                    f"it may take {longest:.1f} s to read the text, and the deadline is "
                    f"{seconds_left:.1f} s from now",
                    promise.seconds,
                )
            prepared, seconds = await self.run(effort, deadline, prepare)
            self._backlog.measured(effort, seconds)
        self.observer.on_prepared(seconds)
        return prepared

    async def run(
        self, effort: int, deadline: float, work: Callable[[Check], Result], share: float = 1.0
    ) -> Result:
        """Run CPU work for a share of texts, on another thread if it takes long; see `effort_of`."""
        if share * effort <= EFFORT_ON_LOOP:
            return work(lambda: None)
        engine, turn = self.searcher.engine, self._queue.turn(share * effort)
        busy = engine.watch.busy("work on a text")
        return await run_in_thread(work, engine.clock, deadline, self._threads, busy, turn)

    def preparation(self, direction: Direction, options: TranslationOptions) -> Preparation:
        """Return the preparation for these options; it is kept, unless it has texts of the client.

        Raises:
            InvalidRequestError: an option is not possible with this model.
        """
        is_of_client = options.target_prefix or options.ignored_tags
        return (self._make_preparation if is_of_client else self._cached_preparation)(
            direction, options
        )

    def _make_preparation(self, direction: Direction, options: TranslationOptions) -> Preparation:
        manifest, pipeline = self.manifest, self.pipeline(direction)
        decoding = decoding_options(manifest, direction, options, self.policy)
        limit = SizeLimit(self.searcher.max_sentences, self.searcher.max_tokens)
        memory = self._memory(direction)
        return Preparation(
            manifest, self.tokenizers, direction, options, decoding, pipeline, limit, memory
        )


class _Counted:
    """Reports to the observer how the block ends, unless the request turns out to be invalid."""

    def __init__(self, observer: Observer, direction: Direction, texts: int) -> None:
        self._observer, self._name = observer, _name(direction)
        self.sentences = texts
        """Number of sentences; until it is known, each text counts as one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, InvalidRequestError):
            self._observer.on_outcome(self._name, _outcome(error), self.sentences)


def _name(direction: Direction) -> str:
    return f"{direction.source}-{direction.target}"


def _outcome(error: BaseException | None) -> Outcome:
    """Return the outcome for a request that ended with this error."""
    if error is None:
        return "ok"
    if isinstance(error, RefusedError):
        return "rejected"
    if isinstance(error, DeadlineExceededError):
        return "expired"
    is_given_up = isinstance(error, AbandonedError | asyncio.CancelledError)
    return "cancelled" if is_given_up else "error"


def _reporter(
    documents: Sequence[Document], on_sentence: OnSentence
) -> Callable[[Translated], None]:
    """Return a function that calls `on_sentence` with the indices of text and sentence added."""
    positions = [
        (text, segment)
        for text, document in enumerate(documents)
        for segment in range(len(document.sentences))
    ]

    def report(done: Translated) -> None:
        for index, sentence in done.items():
            on_sentence(SentenceResult(*positions[index], sentence))

    return report


def _assemble(
    documents: Sequence[Document], decoded: Sequence[Decoded], count: int, check: Check
) -> list[Translation]:
    """Reassemble texts; the n-th best translation of a text consists of its sentences' n-th best ones."""
    remaining = iter(finished(decoded, check))
    translations = []
    for document in documents:
        sentences = tuple(islice(remaining, len(document.sentences)))
        texts = [
            document.filled([ranked(sentence.written, rank) for sentence in sentences])
            for rank in range(count)
        ]
        alternatives = tuple(dict.fromkeys(text for text in texts[1:] if text != texts[0]))
        translations.append(Translation(texts[0], alternatives, sentences, error=document.error))
    return translations

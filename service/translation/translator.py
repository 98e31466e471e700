"""The path of one request through one model: sentences, ids, search, text. Knows nothing of HTTP."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from types import TracebackType
from typing import Literal, Self, TypeVar

from service.engine.safety import LEAST_MARGIN
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    InvalidRequestError,
    LimitExceededError,
    QueueFullError,
    RefusedError,
)
from service.models.bundle import Bundle, Direction
from service.models.observer import Observer
from service.text.document import Document
from service.text.run import Run
from service.text.tokenizer import Tokenizers
from service.translation.aligner import Aligner
from service.translation.backlog import Backlog
from service.translation.offload import Check, run_in_thread
from service.translation.preparation import (
    Preparation,
    SearchPolicy,
    Task,
    decoding_options,
)
from service.translation.searcher import Searcher
from service.translation.sentence_translator import (
    OffLoop,
    SentenceTranslator,
    Translated,
    ranked,
)
from service.translation.streaming import Tell
from service.translation.types import (
    SentenceResult,
    TranslatedSentence,
    Translation,
    TranslationOptions,
)
from service.translation.unknown_words import UnknownWords

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]
Result = TypeVar("Result")

CHARACTERS_ON_LOOP, CHARACTERS_A_TEXT = 1_500, 50
"""Longer requests are cut, tokenized and put together on another thread, so that the event loop stays free.

A text takes as long as so many characters, even an empty one.
"""
FIRST_PIPELINES, MAX_PIPELINES = 16, 1_000
"""Directions whose rules are made at the start, and those whose rules are kept."""
MAX_PREPARATIONS = 100
"""Directions with options that are kept: most requests have the same."""
TEXT_THREADS = 1
"""That do so: the interpreter runs one at a time, and more would keep the event loop from its turn."""


class Translator:
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
        """Put the parts together; `observer` is told of preparations and of every request's outcome."""
        self.manifest = bundle.manifest
        # made when one is asked for: a model between many languages has thousands
        self.pipeline = lru_cache(MAX_PIPELINES)(bundle.pipelines(tokenizers))
        for direction in self.manifest.directions[:FIRST_PIPELINES]:
            self.pipeline(direction)  # so that whatever is wrong with a table is found at once
        self.preparation = lru_cache(MAX_PREPARATIONS)(self._make_preparation)
        self.tokenizers, self.searcher, self.aligner = tokenizers, searcher, aligner
        self.policy, self.observer = policy, observer or Observer()
        self._backlog = Backlog(TEXT_THREADS)  # in characters
        self._threads = ThreadPoolExecutor(TEXT_THREADS, "texts")

    def close(self) -> None:
        """Take nothing new; threads end once what they have is done."""
        self._threads.shutdown(wait=False)
        self.aligner.close()

    def sentence_translator(
        self, searcher: Searcher, request: Preparation, deadline: float, off_loop: OffLoop
    ) -> SentenceTranslator:
        """What translates the sentences of a request."""
        unknown_id, direction = self.tokenizers.target.unknown_id, request.direction
        unknown_words = UnknownWords(self.aligner, unknown_id, direction)
        how = request, deadline, off_loop
        return SentenceTranslator(searcher, self.tokenizers, unknown_words, *how)

    async def translate(
        self,
        texts: Sequence[str],
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
        searcher: Searcher | None = None,
        tell: Tell | None = None,
    ) -> list[Translation]:
        """Translate every text, all sentences of all of them in flight together.

        Args:
            texts: any texts; their layout comes back as it was.
            direction: one of this bundle's.
            options: of the texts and of the search.
            deadline: by the engine's clock, in seconds, when it is given up.
            searcher: in the place of its own, one that knows some of the sentences already.
            tell: is told of each sentence as soon as it is done.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        request = self.preparation(direction, options)
        searcher = searcher or self.searcher
        size = sum(map(len, texts)) + CHARACTERS_A_TEXT * len(texts)
        run = partial(self._run, size > CHARACTERS_ON_LOOP, deadline)
        sentences = self.sentence_translator(searcher, request, deadline, run)
        ranks = options.alternatives + 1
        with _Counted(self.observer, direction, len(texts)) as count:
            searcher.check_deadline(deadline)  # before it costs anything
            documents, tasks = await self._prepared(request, texts, size, deadline)
            count.sentences = len(tasks)
            align = options.align and self.aligner.attention is not None
            aligned = [task.sentence.text for task in tasks if align or task.sentence.tags]
            with self.aligner.promised(aligned, ranks) as promise:
                after = promise.seconds
                told = _telling(documents, tell) if tell else lambda _: None
                found = await sentences.translate(tasks, after, told)
                translated = [found[at] for at in range(len(tasks))]
                if aligned:
                    how = (direction.prefix, direction.start_tokens), align, deadline, promise
                    translated = await self.aligner.align(translated, *how)
            return await run(lambda check: _assemble(documents, translated, ranks, check))

    async def _prepared(
        self, request: Preparation, texts: Sequence[str], size: int, deadline: float
    ) -> tuple[list[Document], list[Task]]:
        """The sentences of texts that are so long together, and what is asked for each.

        Raises:
            QueueFullError: too many texts are before these.
        """
        prepare = partial(self._prepare, request, texts)
        if size <= CHARACTERS_ON_LOOP:
            return prepare(lambda: None)[:2]
        with self._backlog.promised(size) as promise:
            left = deadline - self.searcher.engine.clock()
            if LEAST_MARGIN * promise.seconds > left:
                raise QueueFullError(
                    f"it would take about {promise.seconds:.1f} s to read the text, and the deadline is "
                    f"{left:.1f} s from now",
                    promise.seconds,
                )
            documents, tasks, seconds = await self._run(True, deadline, prepare)
            self._backlog.measured(size, seconds)
        return documents, tasks

    async def _run(self, is_long: bool, deadline: float, work: Callable[[Check], Result]) -> Result:
        """The result of work on the CPU: at once, or from another thread."""
        if is_long:
            return await run_in_thread(work, self.searcher.engine.clock, deadline, self._threads)
        return work(lambda: None)

    def _make_preparation(self, direction: Direction, options: TranslationOptions) -> Preparation:
        """What is to be done with texts of one direction, asked for as `preparation`.

        Raises:
            InvalidRequestError: an option is not possible with this model.
        """
        manifest, pipeline = self.manifest, self.pipeline(direction)
        decoding = decoding_options(manifest, direction, options, self.policy)
        return Preparation(manifest, self.tokenizers, direction, options, decoding, pipeline)

    def _prepare(
        self, request: Preparation, texts: Sequence[str], check: Check
    ) -> tuple[list[Document], list[Task], float]:
        """The texts taken apart, what is asked for each of their sentences, and how many seconds that took.

        Raises:
            LimitExceededError: there are more sentences or tokens than a search may have; told as soon as
                there are.
        """
        started, max_sentences = time.perf_counter(), self.searcher.max_sentences
        tokens, max_tokens = 0, self.searcher.max_tokens

        def counted(sentences: int) -> None:
            check()
            if sentences > max_sentences:
                raise LimitExceededError(
                    f"Invalid request: it has more than {max_sentences} sentences, which is the limit"
                )

        def add_tokens(more: int) -> None:
            nonlocal tokens
            tokens += more
            if tokens > max_tokens:
                raise LimitExceededError(
                    f"Invalid request: its sentences and their translations have {tokens} tokens or more, "
                    f"and the limit is {max_tokens}"
                )

        documents, tasks = request.take_apart(texts, counted, add_tokens)
        seconds = time.perf_counter() - started
        self.observer.on_prepared(seconds)
        return documents, tasks, seconds


class _Counted:
    """Tells the observer how what is inside ends, unless the request turns out to be wrong."""

    def __init__(self, observer: Observer, direction: Direction, texts: int) -> None:
        self._observer, self._name = observer, f"{direction.source}-{direction.target}"
        self.sentences = texts
        """Until they are known, each text counts as one."""

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


def _outcome(error: BaseException | None) -> Outcome:
    """How a request that ended so is counted."""
    if error is None:
        return "ok"
    if isinstance(error, RefusedError):
        return "rejected"
    if isinstance(error, DeadlineExceededError):
        return "expired"
    is_given_up = isinstance(error, AbandonedError | asyncio.CancelledError)
    return "cancelled" if is_given_up else "error"


def _telling(documents: Sequence[Document], tell: Tell) -> Callable[[Translated], None]:
    """Tells of sentences by the numbers of their text and of their place in it."""
    places = [
        (text, segment)
        for text, document in enumerate(documents)
        for segment in range(len(document.sentences))
    ]

    def tell_all(done: Translated) -> None:
        for at, one in done.items():
            tell(SentenceResult(*places[at], one))

    return tell_all


def _assemble(
    documents: Sequence[Document],
    translated: Sequence[TranslatedSentence],
    count: int,
    check: Check,
) -> list[Translation]:
    """Sentences back to texts: the n-th alternative of a text is made of its sentences' n-th best."""
    rest = iter(translated)
    translations = []
    for document in documents:
        sentences = tuple(next(rest) for _ in document.sentences)
        ranks = []
        for rank in range(count):
            check()
            ranks.append(document.assemble([_translated(one, rank) for one in sentences]))
        others = tuple(dict.fromkeys(text for text in ranks[1:] if text != ranks[0]))
        translations.append(Translation(ranks[0], others, sentences, problem=document.problem))
    return translations


def _translated(one: TranslatedSentence, rank: int) -> Run:
    alignment = ranked(one.alignments, rank) if one.alignments else None
    return one.sentence.translated(ranked(one.targets, rank), alignment)

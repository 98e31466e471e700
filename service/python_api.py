"""Translation from Python, without HTTP, settings or metrics: `from service import Translator`."""

import asyncio
import atexit
import gc
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import suppress
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self, TypedDict, Unpack, overload

from service.engine.config import EngineConfig
from service.engine.process_memory import trim
from service.engine.types import DeviceChoice
from service.models.bundle import DEFAULT_BUNDLE, PrecisionChoice, load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.text.run import Format
from service.text.segmenter import Splitting
from service.translation.background import Background, taken
from service.translation.options import TranslationOptions, check_code, impossible, is_number
from service.translation.types import Done, Event, SentenceResult, Translation

Work = Callable[..., Coroutine[Any, Any, list[Translation]]]
"""A request. It may be called with a callback for each translated sentence."""

NO_LIMIT = 1_000_000_000
"""Limit for texts, sentences and tokens, which the caller already has in memory."""
MAX_BEAM_SIZE = 128
NO_TIMEOUT_SECONDS = 365 * 86_400.0


class Options(TypedDict, total=False):
    """The keyword options of `Translator.translate`: the fields of `TranslationOptions`."""

    beam_size: int | None
    length_penalty: float | None
    alternatives: int
    max_decoding_length: int | None
    no_repeat_ngram_size: int
    rerank: bool | None
    target_prefix: str
    format: Format
    splitting: Splitting | None
    ignored_tags: tuple[str, ...]
    align: bool


class Translator:
    """Translates with one model, on behalf of any number of threads and event loops.

    All requests run on an event loop in a thread of its own, so that their sentences share batches.
    """

    def __init__(self, models: ModelSet) -> None:
        """Use models that have been started; see `load`."""
        self._models = models
        # notices an engine that hangs
        self._background = Background("translator", lambda: self._models.check())
        # the exit of a thread that runs a graph would abort the process
        atexit.register(self._end)

    @classmethod
    def load(
        cls,
        bundle: str | PathLike[str] | None = None,
        *,
        device: DeviceChoice = "auto",
        precision: PrecisionChoice = "auto",
        num_workers: int = 0,
    ) -> Self:
        """Load a model, and check that it translates as expected.

        Args:
            bundle: the model's folder; by default, the bundled model.
            device: where to run; auto uses CUDA if there is a device and the bundle has graphs for it.
            precision: which graphs to run; auto uses int8 on a CPU and fp16 on CUDA, if the bundle has them.
            num_workers: batches that run in parallel, one thread each, at most 1,024; 0 means one per core
                (1 on CUDA).

        Raises:
            BundleError: the bundle cannot be used.
            ValueError: `device`, `precision` or `num_workers` is invalid.
        """
        unlimited = EngineConfig(max_waiting=NO_LIMIT, max_waiting_tokens=NO_LIMIT)
        options = ModelOptions(
            device, precision, num_workers, engine=unlimited, max_beam_size=MAX_BEAM_SIZE
        )
        model = start_model(load(Path(bundle or DEFAULT_BUNDLE)), options)
        return cls(ModelSet([model], NO_LIMIT))

    @property
    def languages(self) -> dict[str, list[str]]:
        """The target languages of each source language, by code."""
        return self._models.languages

    @overload  # a str is an Iterable[str], too
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> Translation | list[Translation]:
        """Translate one or several texts, whose sentences share batches.

        Args:
            texts: one text, or several, for which a list in the same order is returned.
            source: language code, or "auto" to detect it for each text; None is the only source or "auto".
            target: language code; may be None if the source has only one target.
            timeout_seconds: time limit, above 0; None means no limit.
            options: the fields of `service.TranslationOptions`.

        Raises:
            InvalidRequestError: a language, the time limit, an option or a text is invalid.
            AbandonedError, EngineError, RefusedError: see `service.errors`.
            TypeError: an option is unknown, or a text is not a str.
            RuntimeError: the translator is closed, or was loaded before this process was forked.
        """
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._background.start(work())
        try:
            translations = taken(future.result())
        except BaseException:  # including KeyboardInterrupt: the result is no longer wanted
            future.cancel()
            raise
        return translations[0] if isinstance(texts, str) else translations

    @overload
    async def translate_async(  # type: ignore[overload-overlap]
        self,
        texts: str,
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> Translation: ...

    @overload
    async def translate_async(
        self,
        texts: Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> list[Translation]: ...

    async def translate_async(
        self,
        texts: str | Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> Translation | list[Translation]:
        """Like `translate`, as a coroutine on any event loop; cancelling it cancels the work."""
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._background.start(work())
        translations = taken(await asyncio.wrap_future(future))
        return translations[0] if isinstance(texts, str) else translations

    def stream(
        self,
        texts: str | Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> Iterator[SentenceResult | Done]:
        """Translate like `translate`, but yield each sentence as soon as it is done.

        Closing the iterator early cancels the work.

        Yields:
            Sentences, in the order in which they are done, and finally the translations of all texts.
        """
        queue: SimpleQueue[Event | None] = SimpleQueue()
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._background.start(_feed(work, queue.put))
        try:
            while (event := queue.get()) is not None:
                yield event
            taken(future.result())
        finally:
            future.cancel()

    async def stream_async(
        self,
        texts: str | Iterable[str],
        source: str | None = None,
        target: str | None = None,
        *,
        timeout_seconds: float | None = None,
        **options: Unpack[Options],
    ) -> AsyncIterator[SentenceResult | Done]:
        """Like `stream`, as an asynchronous iterator on any event loop."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

        def put(event: Event | None) -> None:
            with suppress(RuntimeError):  # if that loop is closed, the event is not wanted
                loop.call_soon_threadsafe(queue.put_nowait, event)

        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._background.start(_feed(work, put))
        try:
            while (event := await queue.get()) is not None:
                yield event
            taken(future.result())
        finally:
            future.cancel()

    def close(self) -> None:
        """Stop. Unfinished requests fail with `service.errors.CancelledError`. May be called repeatedly.

        A translator that is still open when the program ends is closed then.
        """
        if self._end():
            atexit.unregister(self._end)
            self._models = ModelSet([], NO_LIMIT)
            gc.collect()  # as parts of a model refer to each other
            trim()

    def _end(self) -> bool:
        """End all threads; return False if that was done before."""
        if not self._background.refuse_new():
            return False
        self._models.close()
        self._background.end()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(
        self,
        texts: str | Iterable[str],
        source: str | None,
        target: str | None,
        options: Options,
        timeout_seconds: float | None,
    ) -> Work:
        """Check the arguments of a request, and return a function that starts it.

        Raises:
            InvalidRequestError: an argument has an invalid value.
            TypeError: an option is unknown, or a text is not a str.
        """
        for name in options.keys() - Options.__annotations__.keys():
            raise TypeError(f"there is no option {name}, only {', '.join(Options.__annotations__)}")
        text_list, checked = _texts(texts), TranslationOptions(**options)
        check_code("source", source)
        check_code("target", target)
        timeout = NO_TIMEOUT_SECONDS
        if timeout_seconds is not None:
            if not is_number(timeout_seconds, Real) or not timeout_seconds > 0:
                raise impossible("timeout_seconds", "a number above 0", timeout_seconds)
            timeout = min(timeout_seconds, NO_TIMEOUT_SECONDS)
        return partial(self._models.translate, text_list, source, target, checked, timeout)


async def _feed(work: Work, put: Callable[[Event | None], None]) -> None:
    """Call `put` with every event of a request, and finally with None."""
    try:
        put(Done(await work(put)))
    finally:
        put(None)


def _texts(value: str | Iterable[str]) -> list[str]:
    """Return one text or several as a list.

    Raises:
        TypeError: a text is not a str.
    """
    if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"texts must be a str or several, but is {type(value).__name__}")
    texts = [value] if isinstance(value, str) else list(value)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {index} is {type(text).__name__}, and must be str")
    return texts

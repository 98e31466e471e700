"""Translation from Python, without HTTP, settings or metrics: `from service import Translator`."""

import asyncio
import threading
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack, overload

from service.engine.config import EngineConfig
from service.models.bundle import DEFAULT_BUNDLE, load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.text.run import Format
from service.text.segmenter import Splitting
from service.translation.types import (
    Done,
    Event,
    SentenceResult,
    Translation,
    TranslationOptions,
)

Result = TypeVar("Result")
Work = Callable[..., Coroutine[Any, Any, list[Translation]]]
"""A request; what it may be called with is told of each sentence."""

NO_LIMIT = 1_000_000_000
"""Of texts, sentences and tokens: whoever calls has them in memory already."""
MAX_BEAM_SIZE = 128
NO_TIMEOUT_SECONDS = 365 * 86_400.0
WATCH_SECONDS = 1.0
"""Between two looks at whether the engine still works."""


class Options(TypedDict, total=False):
    """What `Translator.translate` takes by name: the fields of `TranslationOptions`."""

    beam_size: int | None
    length_penalty: float | None
    alternatives: int
    max_decoding_length: int | None
    no_repeat_ngram_size: int
    rerank: bool | None
    target_prefix: str
    format: Format
    splitting: Splitting
    ignored_tags: tuple[str, ...]
    align: bool


class Translator:
    """Translates with one model; for any number of threads and event loops at once.

    Its own thread has the event loop on which all requests run, so that their sentences share batches.
    """

    def __init__(self, models: ModelSet) -> None:
        """Take over models that have started; `load` starts them."""
        self._models = models
        self._lock = threading.Lock()
        self._is_closed = False
        self._loop = asyncio.new_event_loop()
        self._closed = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="translator", daemon=True)
        self._thread.start()

    @classmethod
    def load(
        cls,
        bundle: str | PathLike[str] | None = None,
        *,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        precision: Literal["auto", "int8", "fp16", "fp32"] = "auto",
        num_workers: int = 0,
    ) -> Self:
        """Load a model, and have it prove that it translates.

        Args:
            bundle: its folder; by default that of the bundled model.
            device: where it runs; auto takes CUDA if a device is there and the bundle fits it.
            precision: which of its graphs run; auto takes int8 on a CPU and fp16 on CUDA, if they are there.
            num_workers: batches that run side by side, a thread each; 0 is one for each core (1 on CUDA).

        Raises:
            BundleError: the bundle cannot be used.
            ValueError: `device`, `precision` or `num_workers` has an impossible value.
        """
        unlimited = EngineConfig(max_waiting=NO_LIMIT, max_waiting_tokens=NO_LIMIT)
        options = ModelOptions(
            device, precision, num_workers, engine=unlimited, max_beam_size=MAX_BEAM_SIZE
        )
        model = start_model(load(Path(bundle or DEFAULT_BUNDLE)), options)
        return cls(ModelSet([model], NO_LIMIT))

    @property
    def languages(self) -> dict[str, list[str]]:
        """By code of the source, its targets."""
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
        """Translate a text, or several: their sentences share batches.

        Args:
            texts: a text, whose translation is returned; or several, for a list in their order.
            source: language code, or "auto" to detect each text's; None where there is one only, else "auto".
            target: language code; None where the source leaves no choice.
            timeout_seconds: until it is given up; None: it takes as long as it takes.
            options: those of `service.TranslationOptions`.

        Raises:
            InvalidRequestError: a language, an option or a text is not possible.
            AbandonedError, EngineError, RefusedError: it was not done; see `service.errors`.
            TypeError: there is no such option, or a text is none.
            RuntimeError: the translator is closed.
        """
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._start(work())
        try:
            translations = future.result()
        except BaseException:  # KeyboardInterrupt, too: nobody waits for it any more
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
        """The same from a coroutine, on any event loop; cancelling it gives the sentences up."""
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._start(work())
        translations = await asyncio.wrap_future(future)
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
        """Translate as `translate` does, and give out each sentence as soon as it is done.

        Yields:
            Sentences, in the order in which they are done, and at last the translations of all texts. The
            work is given up where the iterator is closed before that.
        """
        queue: SimpleQueue[Event | None] = SimpleQueue()
        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._start(_feed(work, queue.put))
        try:
            while (event := queue.get()) is not None:
                yield event
            future.result()
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
        """The same in a coroutine, on any event loop."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

        def put(event: Event | None) -> None:
            with suppress(RuntimeError):  # that loop is closed: nobody waits
                loop.call_soon_threadsafe(queue.put_nowait, event)

        work = self._work(texts, source, target, options, timeout_seconds)
        future = self._start(_feed(work, put))
        try:
            while (event := await queue.get()) is not None:
                yield event
            future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Stop; what is not done fails with `service.errors.CancelledError`. May be called again."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._models.close()
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join()

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
        """A request, which begins when it is called and awaited.

        Raises:
            InvalidRequestError: an option has an impossible value.
            TypeError: there is no such option, or a text is none.
        """
        for name in options.keys() - Options.__annotations__.keys():
            raise TypeError(f"there is no option {name}, only {', '.join(Options.__annotations__)}")
        given, chosen = _texts(texts), TranslationOptions(**options)
        timeout = NO_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds
        return partial(self._models.translate, given, source, target, chosen, timeout)

    def _start(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start work on the translator's own thread."""
        with self._lock:  # what is scheduled before the end of the loop is also done before it
            if self._is_closed:
                work.close()
                raise RuntimeError("the translator is closed")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _serve(self) -> None:
        """Run the event loop until `close`."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._watch())

    async def _watch(self) -> None:
        """Notice an engine that hangs, until `close`; whoever waits for it gets an error."""
        while not self._closed.is_set():
            self._models.check()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), WATCH_SECONDS)


async def _feed(work: Work, put: Callable[[Event | None], None]) -> None:
    """`put` every event of a request somewhere, and None behind the last."""
    try:
        put(Done(await work(put)))
    finally:
        put(None)


def _texts(given: str | Iterable[str]) -> list[str]:
    """One text or several, as a list.

    Raises:
        TypeError: something else is among them.
    """
    if not isinstance(given, Iterable):
        raise TypeError(f"texts must be a str or several, but is {type(given).__name__}")
    texts = [given] if isinstance(given, str) else list(given)
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {at} is {type(text).__name__}, and must be str")
    return texts

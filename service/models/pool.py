"""Loads models when they are needed, in bounded memory.

One thread loads and unloads, one model at a time: loading keeps the cores busy, and a model's memory can be
measured only while no other is loading. The methods for requests may be called from any thread.
"""

import gc
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from operator import attrgetter

from service.engine.process_memory import resident_bytes, trim
from service.errors import BundleError, ModelUnavailableError, NotReadyError, RefusedError
from service.models.bundle import Bundle
from service.models.loading import ServedModel
from service.models.observer import Observer
from service.models.pooled_model import PooledModel

logger = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Time after a failed load before a request may cause another attempt."""
CHECK_SECONDS = 1.0
"""Interval between checks for idle models and for too much memory."""
CLOSE_SECONDS = 10.0
"""Time limit at shutdown for a load in progress."""
_USED_AT = attrgetter("used_at")


class ModelPool:
    """Loads models on demand, and unloads the least recently used ones."""

    def __init__(
        self,
        start: Callable[[Bundle], ServedModel],
        max_bytes: int = 0,
        idle_seconds: float = 0.0,
        observer: Observer | None = None,
        resident: Callable[[], int | None] = resident_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with no model.

        Args:
            start: loads a model; its exception is the reason if the model cannot be loaded.
            max_bytes: resident memory of the process above which models are unloaded; 0 means no limit.
            idle_seconds: idle time after which a model is unloaded; 0 means never.
            observer: receives loads and unloads.
            resident: returns the resident memory of the process, or None if unknown.
            clock: returns seconds.
        """
        self._start, self._resident, self.clock = start, resident, clock
        self._max_bytes, self._idle_seconds = max_bytes, idle_seconds
        self._observer = observer or Observer()
        self.has_hung = False
        """Whether a thread did not end in time."""
        self._changed = threading.Condition()
        self._queue: deque[PooledModel] = deque()
        self._loaded: set[PooledModel] = set()
        self._unlimited: Sequence[PooledModel] = ()  # `load` loads these: none is unloaded for them
        self.is_replacing = False
        """Whether models are being replaced: until the old ones are unloaded, memory may exceed the limit."""
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="model-pool", daemon=True)
        self._thread.start()

    def ask(self, model: PooledModel) -> "Future[ServedModel]":
        """Request a model, which is loaded if necessary. The caller must always `give_back` the future."""
        future: Future[ServedModel] = Future()
        with self._changed:
            model.waiting[future] = None
            if self._is_closing or model.refusal:
                self._fail(model)
            elif model.loaded is not None and not model.is_leaving:
                self._grant(model)
            elif not model.is_leaving and model not in self._queue:
                self._queue.append(model)
                self._changed.notify_all()
        return future

    def give_back(self, model: PooledModel, future: "Future[ServedModel]") -> None:
        """End the use of a model, or the wait for it."""
        has_waited = future.cancel()
        if not has_waited and future.exception() is not None:
            return
        with self._changed:
            if has_waited:
                model.waiting.pop(future, None)
            else:
                model.users -= 1
                model.used_at = self.clock()
            if not model.users:
                self._changed.notify_all()

    def load(self, *models: PooledModel) -> None:
        """Load models now, up to twice the limit on memory; none that is loaded is unloaded for them.

        Raises:
            ModelUnavailableError: one of them cannot be loaded.
        """
        self._unlimited = models
        try:
            for index, model in enumerate(models):
                if index and self._is_too_much(model.bytes - self._max_bytes):
                    _log_left_out(models[index:])
                    break
                future = self.ask(model)
                error = future.exception()
                self.give_back(model, future)
                if isinstance(error, ModelUnavailableError):
                    raise error
        finally:
            self._unlimited = ()

    def preload(self, models: Sequence[PooledModel]) -> list[ModelUnavailableError]:
        """Load models now, as long as there is room in memory; return the errors of those that failed."""
        errors = []
        missing = [model for model in models if model.loaded is None]
        for index, model in enumerate(missing):
            if self._is_too_much(model.bytes):
                _log_left_out(missing[index:])
                break
            try:
                self.load(model)
            except ModelUnavailableError as error:
                errors.append(error)
        return errors

    def remove(self, models: Sequence[PooledModel]) -> None:
        """Unload models that new requests no longer ask for, each once it is unused."""
        with self._changed:
            for model in models:
                model.is_removed = True
            self._changed.notify_all()

    def wait_until_unloaded(self, models: Sequence[PooledModel]) -> None:
        """Wait until removed models are unloaded, once their requests have ended, or the pool is closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closing or not any(model.is_needed for model in models)
            )
        self.is_replacing = False

    def close(self) -> bool:
        """Unload all models, even those in use; return whether all threads ended in time."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(CLOSE_SECONDS)
        self.has_hung |= self._thread.is_alive()
        with self._changed:
            waiting = [model for model in [*self._queue, *self._loaded] if model.waiting]
            loaded = [model.loaded for model in self._loaded if model.loaded is not None]
            self._loaded.clear()
        for model in waiting:
            self._fail(model)
        for served_model in loaded:
            self.has_hung |= not served_model.close()
        return not self.has_hung

    def _run(self) -> None:
        """Load and unload until `close`, despite any errors."""
        while not self._is_closing:
            try:
                self._take_turn(self._next())
            except BaseException:
                logger.exception("an unexpected error while a model was loaded or unloaded")

    def _next(self) -> PooledModel | None:
        """Wait until there may be something to do; return the model to be loaded next, if there is one."""
        with self._changed:
            self._changed.notify_all()  # the last turn may have unloaded what others wait for
            removed = self._unused(lambda model: model.is_removed)
            if not (self._queue or removed or self._is_closing):
                must_check = self._loaded and (self._max_bytes or self._idle_seconds)
                self._changed.wait(CHECK_SECONDS if must_check else None)
            return self._queue[0] if self._queue and not self._is_closing else None

    def _take_turn(self, wanted: PooledModel | None) -> None:
        """Unload removed models, load `wanted`, then unload idle models and those that exceed the memory."""
        if self._is_closing:
            return
        self._unload_all("removed", lambda model: model.is_removed)
        if wanted is not None:
            try:
                if wanted in self._unlimited or self._make_room(wanted):
                    self._load(wanted)
            except BaseException as error:
                self._give_up(wanted, error)
            finally:
                with self._changed:
                    self._queue.popleft()  # not earlier, so that `close` finds the waiting requests
                    if wanted.waiting:  # these came when its turn was over
                        self._queue.append(wanted)
        if self._idle_seconds:
            limit = self.clock() - self._idle_seconds
            self._unload_all("idle", lambda model: model.used_at <= limit)
        if not self.is_replacing:
            self._make_room(None)

    def _load(self, wanted: PooledModel) -> None:
        """Load a model, unless nobody waits for it any more.

        Raises:
            Exception: the model cannot be loaded.
        """
        if not wanted.waiting or self._is_closing:
            return
        bytes_before, started = self._resident() or 0, time.perf_counter()
        model = self._start(wanted.bundle)
        wanted.bytes = max(wanted.bytes // 2, (self._resident() or 0) - bytes_before)
        with self._changed:
            wanted.loaded, wanted.failure = model, ""
            self._loaded.add(wanted)
            self._grant(wanted)
        seconds = time.perf_counter() - started
        logger.info("loaded %s in %.1f s", wanted.bundle.manifest.name, seconds)
        self._observer.on_loaded(seconds)

    def _give_up(self, wanted: PooledModel, error: BaseException) -> None:
        """Record why a model cannot be loaded, and fail the requests that wait for it."""
        name, reason = wanted.bundle.manifest.name, "the server's log says why"
        traceback: BaseException | None = error
        if isinstance(error, BundleError):
            reason, traceback = error.client_message, None
        with self._changed:
            if wanted.loaded is None:
                retry_at = self.clock() + RETRY_SECONDS
                wanted.failed(f"{name} cannot be loaded: {reason}", retry_at, error.__cause__)
        self._fail(wanted)
        logger.error("%s cannot be loaded: %s", name, error, exc_info=traceback)
        self._observer.on_load_failed()

    def _grant(self, model: PooledModel) -> None:
        """Give the model to the requests that wait for it. The caller holds the lock."""
        assert model.loaded is not None
        model.used_at = self.clock()
        waiting, model.waiting = model.waiting, {}
        for future in waiting:
            if future.set_running_or_notify_cancel():  # from now on, it cannot be cancelled
                model.users += 1
                future.set_result(model.loaded)

    def _fail(self, model: PooledModel) -> None:
        """Fail all requests that wait for a model."""
        with self._changed:
            waiting, model.waiting = model.waiting, {}
            for future in waiting:
                if future.set_running_or_notify_cancel():
                    future.set_exception(self._error_for(model))

    def _error_for(self, model: PooledModel) -> RefusedError:
        """Return the error for a request that does not get the model."""
        if self._is_closing:
            return NotReadyError("the service is stopping")
        return ModelUnavailableError(model.failure, model.retry_at - self.clock())

    def _is_too_much(self, num_bytes: int) -> bool:
        return bool(self._max_bytes) and (self._resident() or 0) + num_bytes > self._max_bytes

    def _make_room(self, wanted: PooledModel | None) -> bool:
        """Unload the least recently used models until `wanted` fits, or with None, until the limit is met.

        Returns:
            False if no request waits for `wanted` any more. True otherwise, even if there is nothing left
            to unload.
        """
        while self._is_too_much(wanted.bytes if wanted else 0):
            with self._changed:
                oldest = self._oldest_unused()
                if oldest is None and wanted is not None and self._loaded:
                    oldest = self._first_free(wanted)
                if wanted is not None and not wanted.waiting:
                    return False
                if oldest is None or self._is_closing:
                    return True
                oldest.is_leaving = True
            self._unload(oldest, "memory")
        return True

    def _unused(self, matches: Callable[[PooledModel], bool] = lambda _: True) -> list[PooledModel]:
        """Return the loaded models without users. The caller holds the lock."""
        return [model for model in self._loaded if not model.users and matches(model)]

    def _oldest_unused(self) -> PooledModel | None:
        return min(self._unused(), key=_USED_AT, default=None)

    def _first_free(self, wanted: PooledModel) -> PooledModel | None:
        """Wait until a model is unused; return None if no request waits for `wanted` any more.

        Meanwhile, the least recently used model gets no new users, so that the wait ends. The caller holds
        the lock.
        """
        candidate = min(self._loaded, key=_USED_AT)
        candidate.is_leaving = True
        self._changed.wait_for(
            lambda: self._is_closing or self._oldest_unused() or not wanted.waiting
        )
        unused = self._oldest_unused() if wanted.waiting else None
        if candidate is not unused:
            candidate.is_leaving = False
            self._grant(candidate)
        return unused

    def _unload_all(self, reason: str, matches: Callable[[PooledModel], bool]) -> None:
        """Unload those models without users for which `matches` is true."""
        with self._changed:
            unused = self._unused(matches)
            for model in unused:
                model.is_leaving = True
        for model in unused:
            self._unload(model, reason)

    def _unload(self, model: PooledModel, reason: str) -> None:
        """Unload an unused model; if requests came meanwhile, it is enqueued to be loaded again."""
        with self._changed:
            if self._is_closing:
                return
            loaded, model.loaded = model.loaded, None
            self._loaded.discard(model)
        try:
            if loaded is not None:
                if not loaded.close():
                    self.has_hung = True
                    logger.critical("a thread of %s hangs", model.bundle.manifest.name)
                del loaded
                gc.collect()
                trim()
                logger.info("unloaded %s: %s", model.bundle.manifest.name, reason)
                self._observer.on_unloaded(reason)
        except BaseException:
            logger.exception("%s was not unloaded as it should be", model.bundle.manifest.name)
        finally:
            with self._changed:
                model.is_leaving = False
                if model.waiting:
                    self._queue.append(model)


def _log_left_out(models: Sequence[PooledModel]) -> None:
    names = ", ".join(model.bundle.manifest.name for model in models)
    logger.warning("not loaded yet, as there is no room in memory: %s", names)

"""Models that are loaded when they are needed, in bounded memory.

One thread loads and unloads, one model at a time: loading takes the cores, and how much memory a model takes
can be told only while no other is loaded. What requests do with a pool may be done on any thread.
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
from service.errors import (
    BundleError,
    ModelUnavailableError,
    NotReadyError,
    RefusedError,
)
from service.models.bundle import Bundle
from service.models.loading import ServedModel
from service.models.observer import Observer
from service.models.pooled_model import PooledModel

logger = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""After which a model that could not be loaded is tried again, if it is asked for."""
LOOK_SECONDS = 1.0
"""Between two looks at who is idle, and at the memory."""
CLOSE_SECONDS = 10.0
"""In which a load that is under way at the end should be done."""
_USED_AT = attrgetter("used_at")


class ModelPool:
    """Loads models when they are asked for, and unloads those that have been idle for longest."""

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
            start: loads one; what it raises is why it cannot be.
            max_bytes: of the whole process, beyond which models are unloaded; 0 is unlimited.
            idle_seconds: after which one is unloaded that nobody used; 0 is never.
            observer: told of loads and unloads.
            resident: how much memory the process has.
            clock: in seconds.
        """
        self._start, self._resident, self._clock = start, resident, clock
        self._max_bytes, self._idle_seconds = max_bytes, idle_seconds
        self._observer = observer or Observer()
        self.has_hung = False
        """Whether a thread was left that does not end."""
        self._changed = threading.Condition()
        self._line: deque[PooledModel] = deque()
        self._loaded: set[PooledModel] = set()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="model-pool", daemon=True)
        self._thread.start()

    def ask(self, model: PooledModel) -> "Future[ServedModel]":
        """Use a model, as soon as it is loaded; whoever asks gives it back, whatever comes of it."""
        asked: Future[ServedModel] = Future()
        with self._changed:
            if self._is_closing:
                asked.set_exception(NotReadyError("the service is stopping"))
            elif model.loaded is not None and not model.is_leaving:
                self._grant(model, [asked])
            elif model.failure and self._clock() < model.retry_at:
                asked.set_exception(self._why(model))
            else:
                model.waiting.append(asked)
                if len(model.waiting) == 1 and not model.is_leaving:
                    self._line.append(model)
                    self._changed.notify_all()
        return asked

    def give_back(self, model: PooledModel, asked: "Future[ServedModel]") -> None:
        """Use a model no longer, or wait for it no longer."""
        has_waited = asked.cancel()
        if not has_waited and asked.exception() is not None:
            return
        with self._changed:
            if not has_waited:
                model.users -= 1
                model.used_at = self._clock()
            if not model.users:
                self._changed.notify_all()

    def preload(self, models: Sequence[PooledModel]) -> None:
        """Load these now, as many as there is room for; the failures are in the log."""
        for at, model in enumerate(models):
            if self._is_too_much(model.bytes):
                names = ", ".join(one.bundle.manifest.name for one in models[at:])
                logger.warning("not loaded yet, as there is no room in memory: %s", names)
                return
            asked = self.ask(model)
            asked.exception()
            self.give_back(model, asked)

    def remove(self, models: Sequence[PooledModel]) -> None:
        """Unload models that new requests will not ask for, each whenever nobody uses it."""
        with self._changed:
            for model in models:
                model.is_removed = True
            self._changed.notify_all()

    def close(self) -> bool:
        """Unload everything, whoever uses it; whether all threads ended in time."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(CLOSE_SECONDS)
        self.has_hung |= self._thread.is_alive()
        with self._changed:
            waiting = [model for model in [*self._line, *self._loaded] if model.waiting]
            loaded = [model.loaded for model in self._loaded if model.loaded is not None]
            self._loaded.clear()
        for model in waiting:
            self._fail(model)
        for one in loaded:
            self.has_hung |= not one.close()
        return not self.has_hung

    def _run(self) -> None:
        """Load and unload until the end, which no error is."""
        while True:
            with self._changed:
                may_go = self._unused(lambda model: model.is_removed)
                if not (self._line or may_go or self._is_closing):
                    looks = self._loaded and (self._max_bytes or self._idle_seconds)
                    self._changed.wait(LOOK_SECONDS if looks else None)
                if self._is_closing:
                    return
                wanted = self._line[0] if self._line else None
            try:
                self._take_turn(wanted)
            except BaseException:
                logger.exception(
                    "an unexpected error while models of the folder were loaded or unloaded"
                )

    def _take_turn(self, wanted: PooledModel | None) -> None:
        """Unload what was removed, load what is wanted, unload what is idle or too much."""
        self._unload_all("removed", lambda model: model.is_removed)
        if wanted is not None:
            try:
                if self._make_room(wanted):
                    self._load(wanted)
            except BaseException as error:
                self._give_up(wanted, error)
            finally:
                with self._changed:
                    self._line.popleft()  # until now, `close` finds who waits for it
        if self._idle_seconds:
            since = self._clock() - self._idle_seconds
            self._unload_all("idle", lambda model: model.used_at <= since)
        self._make_room(None)

    def _load(self, wanted: PooledModel) -> None:
        """Load a model that somebody waits for.

        Raises:
            Exception: it cannot be loaded.
        """
        with self._changed:
            wanted.waiting = [asked for asked in wanted.waiting if not asked.cancelled()]
            if not wanted.waiting or self._is_closing:
                self._fail(wanted)  # under this lock: whoever asks next must not be failed, too
                return
        before, started = self._resident() or 0, time.perf_counter()
        model = self._start(wanted.bundle)
        wanted.bytes = max(wanted.bytes // 2, (self._resident() or 0) - before)
        with self._changed:
            wanted.loaded, wanted.failure = model, ""
            self._loaded.add(wanted)
            waiting, wanted.waiting = wanted.waiting, []
            self._grant(wanted, waiting)
        seconds = time.perf_counter() - started
        logger.info("loaded %s in %.1f s", wanted.bundle.manifest.name, seconds)
        self._observer.on_loaded(seconds)

    def _give_up(self, wanted: PooledModel, error: BaseException) -> None:
        """Note why a model cannot be loaded, and tell whoever waits for it."""
        name, reason = wanted.bundle.manifest.name, "the server's log says why"
        if is_told := isinstance(error, BundleError):
            reason = error.client_message
        with self._changed:
            if wanted.loaded is None:
                wanted.failure = f"{name} cannot be loaded: {reason}"
                wanted.retry_at = self._clock() + RETRY_SECONDS
        self._fail(wanted)
        logger.error("%s cannot be loaded: %s", name, error, exc_info=None if is_told else error)
        self._observer.on_load_failed()

    def _grant(self, model: PooledModel, waiting: Sequence["Future[ServedModel]"]) -> None:
        """Count those as users who still wait; the caller holds the lock."""
        assert model.loaded is not None
        model.used_at = self._clock()
        for asked in waiting:
            if asked.set_running_or_notify_cancel():  # from now on, it cannot be cancelled unseen
                model.users += 1
                asked.set_result(model.loaded)

    def _fail(self, model: PooledModel) -> None:
        """Tell whoever waits for a model that it does not come."""
        with self._changed:
            waiting, model.waiting = model.waiting, []
            for asked in waiting:
                if asked.set_running_or_notify_cancel():
                    asked.set_exception(self._why(model))

    def _why(self, model: PooledModel) -> RefusedError:
        """The error of one who is not given a model."""
        if self._is_closing:
            return NotReadyError("the service is stopping")
        return ModelUnavailableError(model.failure, model.retry_at - self._clock())

    def _is_too_much(self, more: int) -> bool:
        return bool(self._max_bytes) and (self._resident() or 0) + more > self._max_bytes

    def _make_room(self, wanted: PooledModel | None) -> bool:
        """Unload what was used longest ago, until there is room for `wanted`, or, for None, no excess.

        Returns whether there is, or nothing is left to unload; else nobody waits for `wanted` any more.
        """
        while self._is_too_much(wanted.bytes if wanted else 0):
            with self._changed:
                oldest = self._oldest_unused()
                if oldest is None and wanted is not None and self._loaded:
                    oldest = self._first_free(wanted)
                if wanted is not None and not _is_awaited(wanted):
                    wanted.waiting.clear()  # under this lock: whoever asks next has it put in line anew
                    return False
                if oldest is None or self._is_closing:
                    return True
                oldest.is_leaving = True
            self._unload(oldest, "memory")
        return True

    def _unused(self, which: Callable[[PooledModel], bool] = lambda _: True) -> list[PooledModel]:
        """Those of the loaded models that nobody uses; the caller holds the lock."""
        return [model for model in self._loaded if not model.users and which(model)]

    def _oldest_unused(self) -> PooledModel | None:
        return min(self._unused(), key=_USED_AT, default=None)

    def _first_free(self, wanted: PooledModel) -> PooledModel | None:
        """Wait until one of the models is unused; None where nobody waits for `wanted` any more.

        The caller holds the lock. The one used longest ago gets no new users meanwhile, so that this cannot
        go on for ever.
        """
        held = min(self._loaded, key=_USED_AT)
        held.is_leaving = True
        self._changed.wait_for(
            lambda: self._is_closing or self._oldest_unused() or not _is_awaited(wanted)
        )
        free = self._oldest_unused() if _is_awaited(wanted) else None
        if held is not free:
            held.is_leaving = False
            waiting, held.waiting = held.waiting, []
            self._grant(held, waiting)
        return free

    def _unload_all(self, reason: str, which: Callable[[PooledModel], bool]) -> None:
        """Unload those of the models that nobody uses."""
        with self._changed:
            unused = self._unused(which)
            for model in unused:
                model.is_leaving = True
        for model in unused:
            self._unload(model, reason)

    def _unload(self, model: PooledModel, reason: str) -> None:
        """Unload a model that is leaving and unused; whoever came meanwhile has it loaded anew."""
        with self._changed:
            if self._is_closing:
                return
            loaded, model.loaded = model.loaded, None
            self._loaded.discard(model)
        if loaded is not None:
            try:
                self._close(loaded, model.bundle.manifest.name)
            except BaseException:
                logger.exception("%s was not closed as it should be", model.bundle.manifest.name)
            del loaded
            gc.collect()
            trim()
            logger.info("unloaded %s: %s", model.bundle.manifest.name, reason)
            self._observer.on_unloaded(reason)
        with self._changed:
            model.is_leaving = False
            if model.waiting:
                self._line.append(model)

    def _close(self, loaded: ServedModel, name: str) -> None:
        """End the threads of the model of that name."""
        if not loaded.close():
            self.has_hung = True
            logger.critical("a thread of %s hangs", name)


def _is_awaited(model: PooledModel) -> bool:
    """Whether somebody waits for a model; the caller holds the pool's lock."""
    return not all(asked.cancelled() for asked in model.waiting)

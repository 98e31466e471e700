"""Loads the models at startup, replaces them on reload, and closes them at shutdown."""

import gc
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

from service.engine.config import EngineConfig
from service.engine.cores import available_cores
from service.engine.process_memory import trim
from service.engine.stalls import StallDetector
from service.engine.turns import Turns
from service.errors import NotReadyError
from service.models.bundle import Bundle, load
from service.models.folder import ModelFolder
from service.models.loading import ModelOptions, ServedModel, start_model
from service.models.model_set import ModelSet
from service.models.observer import Observer
from service.models.pooled_model import PooledModel
from service.models.proof import StuckError
from service.models.settings import ModelSettings

logger = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""Time before a replaced set is drained, as a request may have got it and not started yet."""
MAX_LOAD_SECONDS = 600.0
"""Time limit for loading one model, or for checking the bundles of the folder.

A load may hang: on a disk that does not answer, or because a new thread died for lack of memory before it
reported that it runs.
"""
SLOW_LOAD_SECONDS = 60.0
"""Least time after which a load is an obstacle to others; see `ModelStore.obstacle`."""


class Stage(Enum):
    """How far a store is on its way to the end."""

    READY = auto()
    ANNOUNCED = auto()
    """No longer ready, but requests are still served."""
    REFUSING = auto()
    """New requests are refused."""


class ModelStore:
    """Holds the current models. `load` and `stop` are slow: call them outside the event loop."""

    def __init__(
        self,
        settings: ModelSettings,
        observer: Observer,
        drain_seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load nothing yet.

        Replaced models of named bundles get `drain_seconds` to finish their requests; pooled ones finish all.
        """
        self.settings, self.observer, self.drain_seconds = settings, observer, drain_seconds
        self.current: ModelSet | None = None
        self._options = model_options(settings)
        self._turns = Turns(settings.num_workers or available_cores())
        self._watch = StallDetector(clock)
        self._folder = (
            ModelFolder(
                settings.bundles, settings, self._start_pooled, observer, self._watch, clock
            )
            if settings.bundles
            else None
        )
        self.stage = Stage.READY
        self.has_hung = False
        """Whether a thread hangs, which would keep the interpreter from exiting."""
        self._changing = threading.Lock()
        self._retiring: threading.Thread | None = None

    def get(self) -> ModelSet:
        """Return the current models.

        Raises:
            NotReadyError: no models are loaded yet, or the service is stopping.
        """
        if self.current is None or self.stage is Stage.REFUSING:
            state = "stopping" if self.is_stopping else "starting"
            raise NotReadyError(f"the service is {state}")
        return self.current

    @property
    def is_stopping(self) -> bool:
        """Whether the service is no longer ready. Requests may still be served."""
        return self.stage is not Stage.READY

    @property
    def can_finish(self) -> bool:
        """Whether requests in progress can finish: not if a thread hangs or an engine has failed."""
        return not self.has_hung and (self.current is None or self.current.is_alive)

    @property
    def is_loading(self) -> bool:
        """Whether a thread is loading models; `stop` leaves it behind if these are the first ones."""
        return self._changing.locked()

    def check(self) -> str | None:
        """Return why the models cannot be served or replaced any more, or None. Call about once a second."""
        models = self.current
        if models is not None and not models.check():
            return models.failure or "an engine has failed"
        failure = self._watch.failure(MAX_LOAD_SECONDS)
        self.has_hung |= failure is not None
        return failure

    def obstacle(self, timeout: float) -> str | None:
        """Return why no model can be loaded now, if none is: a load that lasts longer than requests wait.

        These wait for `timeout` seconds.
        """
        if self._folder is None or self.current is None:
            return None
        if any(model.loaded for model in self.current.described):
            return None
        return self._folder.slow_load(max(SLOW_LOAD_SECONDS, timeout))

    @property
    def expected_wait(self) -> float | None:
        """Estimated seconds until all waiting work is done; None if there is no estimate yet."""
        waits = [model.expected_wait for model in self.current.models] if self.current else []
        return max((wait for wait in waits if wait is not None), default=None)

    @property
    def shortest_wait(self) -> float | None:
        """Estimated seconds for the shortest request; None if there is no estimate."""
        waits = []
        for described in self.current.described if self.current else ():
            loaded = described.loaded
            if loaded is None or (wait := loaded.engine.shortest_wait) is None:
                return None
            waits.append(wait)
        return min(waits, default=None)

    def load(self) -> ModelSet:
        """Load, verify and warm up all bundles, and replace the current models with them.

        The replaced models finish their requests. Until they are unloaded, the next load waits, so that there
        are at most two generations of models; the deadlines of their requests limit this wait. Pooled models
        whose bundles have not changed stay loaded.

        Raises:
            BundleError: a named bundle cannot be served, or the folder has no bundle. The current models
                are kept.
            ModelUnavailableError: a model of the folder cannot take the place of a loaded one, or in the
                first load, one to preload cannot be loaded.
            NotReadyError: another load is in progress, or the service is stopping.
        """
        if not self._changing.acquire(blocking=False):
            raise NotReadyError("the models are already being loaded")
        try:
            if self._retiring is not None:
                self._retiring.join()
            return self._replace()
        finally:
            self._changing.release()

    def announce_stop(self) -> None:
        """Report that the service is not ready, but continue to serve requests."""
        if self.stage is Stage.READY:
            self.stage = Stage.ANNOUNCED

    def refuse_new(self) -> None:
        """Refuse new requests from now on; those in progress continue."""
        self.stage = Stage.REFUSING

    def stop(self) -> None:
        """Abort all requests that are still in progress, and close the models."""
        self.refuse_new()
        # first, as it also ends a preload
        closed = self._folder is None or self._folder.pool.close()
        # wait for a reload in progress, unless it hangs, but not for the first load, which serves no requests
        can_wait = self.current is not None and not self.has_hung
        seconds = self.drain_seconds + GRACE_SECONDS if can_wait else 0.0
        has_ended = self._changing.acquire(timeout=seconds)
        closed &= not any(model.is_stuck for model in self._pooled)
        previous, self.current = self.current, None
        if has_ended:
            self._changing.release()
        elif can_wait:
            logger.critical("the models are still being loaded after %g s", seconds)
        if previous is not None:
            closed &= self._finish(previous, 0.0) and has_ended
        is_first_load = previous is None and not has_ended
        self.has_hung |= not (closed or is_first_load)

    def _replace(self) -> ModelSet:
        if self.is_stopping:
            raise NotReadyError("the service is stopping")
        loaded = self._start_all()
        if self.stage is Stage.REFUSING:
            self.has_hung |= not self._finish(loaded, 0.0)
            raise NotReadyError("the service is stopping")
        previous, self.current = self.current, loaded
        self._log_models(loaded)
        if previous is not None:
            leaving = ([previous], GRACE_SECONDS)
            retiring = threading.Thread(target=self._retire, args=leaving, name="retire")
            try:
                with self._watch.busy("the start of a thread"):
                    retiring.start()
            except RuntimeError:  # there may be no more threads
                self._retire(*leaving)
            else:
                self._retiring = retiring
        return loaded

    def _start_all(self) -> ModelSet:
        started: list[ServedModel] = []
        try:
            with self._watch.busy("the check of the bundles"):
                pooled = self._folder.find(self._pooled) if self._folder else []
                bundles = [load(folder) for folder in self.settings.named_bundles]
            for bundle in bundles:
                started.append(self._start_one(bundle, self._options))
            models = ModelSet(
                started, self.settings.max_text_characters, pooled, self.settings.pivot
            )
            if self._folder:  # last, after everything else that may fail
                if self.current is not None:
                    self._folder.replace(self.current, models)
                errors = self._folder.preload(pooled)
                if errors and self.current is None:
                    raise errors[0]
        except BaseException as error:
            for model in started:
                self.has_hung |= not model.close()
            if self._folder:
                self._folder.pool.is_replacing = False
            if self.current is None:  # otherwise, requests must be able to finish
                self.has_hung |= isinstance(error.__cause__, StuckError)
            raise
        return models

    def _start_one(self, bundle: Bundle, options: ModelOptions) -> ServedModel:
        with self._watch.busy(f"the loading of {bundle.manifest.name}"):
            return start_model(bundle, options, self.observer, self._turns)

    def _start_pooled(self, bundle: Bundle) -> ServedModel:
        # while other models work, the time of a lone sentence cannot be measured
        return self._start_one(bundle, replace(self._options, single_sequence=False))

    @property
    def _pooled(self) -> Sequence[PooledModel]:
        """The current models of the folder."""
        return self.current.pooled if self.current else ()

    def _log_models(self, models: ModelSet) -> None:
        """Log which models are served, and settings and names that have no effect."""
        for model in models.models:
            manifest = model.bundle.manifest
            count = len(manifest.directions)
            unit = "direction" if count == 1 else "directions"
            message = "%s is ready: %d %s, %s, %s"
            logger.info(message, manifest.name, count, unit, model.precision, model.placement)
        names = Counter(model.bundle.manifest.name for model in models.described)
        for name, count in names.items():
            if count > 1:
                logger.warning(
                    "%d models are named %s: a request that names it gets the first", count, name
                )
        settings = self.settings
        chosen = settings.pivot if "pivot" in settings.model_fields_set else ""
        if chosen and not models.language_routes.has_pivot:
            message = (
                "ATTENDANT_PIVOT = %s changes nothing: no models translate both into and from it"
            )
            logger.warning(message, chosen)
        if waiting := len(models.described) - len(models.models):
            logger.info("models to be loaded on demand: %d", waiting)

    def _retire(self, leaving: list[ModelSet], grace_seconds: float) -> None:
        """Let a replaced set finish, and wait until its models are unloaded.

        Models of named bundles are closed after `drain_seconds`. Pooled ones are unloaded when their last
        request ends, at the latest at its deadline. The list is emptied, so that the models' memory is freed.
        """
        time.sleep(grace_seconds)
        replaced = leaving.pop()
        try:
            self.has_hung |= not self._finish(replaced, self.drain_seconds)
        finally:  # otherwise, memory would exceed its limit for ever
            if self._folder is not None:
                gone = [model for model in replaced.pooled if model not in self._pooled]
                self._folder.pool.remove(gone)
                self._folder.pool.wait_until_unloaded(gone)
        del replaced
        gc.collect()
        trim()

    def _finish(self, models: ModelSet, drain_seconds: float) -> bool:
        if not models.drain(drain_seconds):
            logger.warning("%d sentences were not finished in time", models.num_running)
        closed = models.close()
        if not closed:
            logger.critical("a thread of the replaced models hangs")
        return closed


def model_options(settings: ModelSettings) -> ModelOptions:
    """Return the model options in the operator's settings."""
    return ModelOptions(
        device=settings.device,
        precision=settings.precision,
        num_workers=settings.num_workers,
        engine=EngineConfig(
            max_waiting=settings.max_waiting,
            max_waiting_tokens=settings.max_waiting_tokens,
            steps_per_run=settings.steps_per_run,
            stall_seconds=settings.stall_seconds,
        ),
        max_num_seqs=settings.max_num_seqs,
        max_num_batched_tokens=settings.max_num_batched_tokens,
        gpu_memory_limit=settings.gpu_memory_limit_mb * 1_000_000,
        cached_sentences=settings.cached_sentences,
        max_beam_size=settings.max_beam_size,
        rerank=settings.rerank,
    )

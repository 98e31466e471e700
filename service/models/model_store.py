"""Loads the models at start, swaps them while they serve, lets go of them at the end."""

import gc
import logging
import threading
import time

from service.engine.config import EngineConfig
from service.engine.cores import available_cores
from service.engine.memory import trim
from service.engine.turns import Turns
from service.errors import NotReadyError
from service.metrics import Metrics
from service.models.bundle import load
from service.models.loading import ModelOptions, ServedModel, start_model
from service.models.model_set import ModelSet
from service.settings import Settings

logger = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""In which a request that has just been given the old models begins to use them."""


class ModelStore:
    """Where the API finds the models; its slow methods are for other threads than the event loop's."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Nothing is loaded yet."""
        self.settings, self.metrics = settings, metrics
        self.current: ModelSet | None = None
        self._turns = Turns(settings.num_loops or available_cores())
        self.is_stopping = False
        """Whether readiness has turned, although what comes may still be served."""
        self._refuses_new = False
        self.has_hung = False
        """Whether a thread was left that keeps the interpreter from ending by itself."""
        self._changing = threading.Lock()
        metrics.watch(
            lambda: self.current.num_waiting if self.current else 0,
            lambda: self.current.num_running if self.current else 0,
            lambda: self.current is not None and self.current.is_alive,
        )

    def get(self) -> ModelSet:
        """The models that serve now.

        Raises:
            NotReadyError: they are being loaded, or the service is stopping.
        """
        if self.current is None or self._refuses_new:
            state = "stopping" if self.is_stopping else "starting"
            raise NotReadyError(f"the service is {state}")
        return self.current

    @property
    def expected_wait(self) -> float | None:
        """Seconds that what waits now should take; None while that cannot be told."""
        waits = [model.expected_wait for model in self.current.models] if self.current else []
        return max((wait for wait in waits if wait is not None), default=None)

    @property
    def shortest_wait(self) -> float | None:
        """Seconds until the shortest request would have its turn; None where that cannot be told."""
        waits = (
            [model.engine.shortest_wait for model in self.current.models] if self.current else []
        )
        known = [wait for wait in waits if wait is not None]
        return min(known) if known and len(known) == len(waits) else None

    def load(self) -> ModelSet:
        """Load, verify and warm up all bundles, then serve them; those that served before finish and go.

        Raises:
            BundleError: one of them cannot be served; nothing has changed.
            NotReadyError: another load is under way, or the service is stopping.
        """
        if not self._changing.acquire(blocking=False):
            raise NotReadyError("the models are being loaded already")
        try:
            if self.is_stopping:
                raise NotReadyError("the service is stopping")
            before, self.current = self.current, self._start_all()
        finally:
            self._changing.release()
        self._describe(self.current)
        if before is not None:
            threading.Thread(
                target=self._retire, args=([before], GRACE_SECONDS), name="retire"
            ).start()
        return self.current

    def announce_stop(self) -> None:
        """Stop being ready; what comes is served still."""
        self.is_stopping = True

    def refuse_new(self) -> None:
        """Give the models to nobody from now on; what has them goes on."""
        self.is_stopping = self._refuses_new = True

    def stop(self) -> None:
        """Cut off what still runs, and close; whoever stops has waited before."""
        self.refuse_new()
        # a load under way ends first, unless it hangs
        loaded = self._changing.acquire(timeout=self.settings.drain_seconds + GRACE_SECONDS)
        last, self.current = self.current, None
        if loaded:
            self._changing.release()
        closed = last is None or self._finish(last, 0.0)
        self.has_hung |= not (closed and loaded)

    def _start_all(self) -> ModelSet:
        started: list[ServedModel] = []
        options = model_options(self.settings)
        try:
            for bundle in [load(folder) for folder in self.settings.bundle]:
                started.append(start_model(bundle, options, self.metrics, self._turns))
        except BaseException:
            for model in started:
                self.has_hung |= not model.close()
            raise
        return ModelSet(started, self.settings.max_text_characters)

    def _describe(self, models: ModelSet) -> None:
        self.metrics.model_info.clear()
        for model in models.models:
            name = model.bundle.manifest.name
            self.metrics.model_info.labels(name, model.provider, model.precision).set(1)
            logger.info("serving %s with %s in %s", name, model.provider, model.precision)

    def _retire(self, leaving: list[ModelSet], grace_seconds: float) -> None:
        """Let the models in `leaving` finish; it is emptied, so that their memory comes free."""
        time.sleep(grace_seconds)
        self.has_hung |= not self._finish(leaving.pop(), self.settings.drain_seconds)
        gc.collect()
        trim()

    def _finish(self, models: ModelSet, drain_seconds: float) -> bool:
        if not models.drain(drain_seconds):
            logger.warning("%d sentences were not done in time", models.num_running)
        closed = models.close()
        if not closed:
            logger.critical("a thread of the models that were retired hangs")
        return closed


def model_options(settings: Settings) -> ModelOptions:
    """What an operator's settings say of models."""
    return ModelOptions(
        device=settings.device,
        precision=settings.precision,
        num_workers=settings.num_loops,
        engine=EngineConfig(
            max_num_seqs=settings.max_num_seqs,
            max_num_batched_tokens=settings.max_num_batched_tokens,
            max_waiting=settings.max_waiting,
            max_waiting_tokens=settings.max_waiting_tokens,
            steps_per_run=settings.steps_per_run,
            stall_seconds=settings.stall_seconds,
        ),
        cached_sentences=settings.cached_sentences,
        max_beam_size=settings.max_beam_size,
        rerank=settings.rerank,
    )

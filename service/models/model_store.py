"""Loads the models at startup, replaces them while they serve, and releases them at the end."""

import gc
import logging
import threading
import time
from dataclasses import replace

from service.engine.config import EngineConfig
from service.engine.cores import available_cores
from service.engine.process_memory import trim
from service.engine.turns import Turns
from service.errors import BundleError, NotReadyError
from service.metrics import Metrics
from service.models.bundle import Bundle, load
from service.models.folder import find_bundles
from service.models.loading import ModelOptions, ServedModel, start_model
from service.models.model_set import ModelSet
from service.models.pool import ModelPool
from service.models.pooled_model import PooledModel
from service.models.settings import ALL
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
        self._options = model_options(settings)
        self._turns = Turns(settings.num_loops or available_cores())
        self._pool = self._new_pool() if settings.bundles else None
        self.is_stopping = False
        """Whether readiness has turned, although what comes may still be served."""
        self._refuses_new = False
        self.has_hung = False
        """Whether a thread was left that hangs and keeps the interpreter from ending by itself."""
        self.is_loading_still = False
        """Whether one was left that loads the first models, which nobody waits for any more."""
        self._changing = threading.Lock()
        metrics.watch(
            lambda: self.current.num_waiting if self.current else 0,
            lambda: self.current.num_running if self.current else 0,
            lambda: self.current is not None and self.current.is_alive,
            self._loaded_labels,
            lambda: len(self.current.described) if self.current else 0,
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
        """Seconds that the shortest request may take; None where that cannot be told."""
        waits = []
        for described in self.current.described if self.current else ():
            loaded = described.loaded
            if loaded is None or (wait := loaded.engine.shortest_wait) is None:
                return None
            waits.append(wait)
        return min(waits, default=None)

    def load(self) -> ModelSet:
        """Load, verify and warm up all bundles, then serve them; those that served before finish and go.

        Of a folder, bundles that are new or have changed are found, and the models of the others stay loaded.

        Raises:
            BundleError: one that is named cannot be served, or the folder has none; nothing has changed.
            NotReadyError: another load is under way, or the service is stopping.
        """
        if not self._changing.acquire(blocking=False):
            raise NotReadyError("the models are already being loaded")
        try:
            if self.is_stopping:
                raise NotReadyError("the service is stopping")
            loaded = self._start_all()
            if self._refuses_new:
                self.has_hung |= not self._finish(loaded, 0.0)
                raise NotReadyError("the service is stopping")
            before, self.current = self.current, loaded
        finally:
            self._changing.release()
        self._log_models(loaded)
        if before is not None:
            threading.Thread(
                target=self._retire, args=([before], GRACE_SECONDS), name="retire"
            ).start()
        return loaded

    def announce_stop(self) -> None:
        """Stop being ready; what comes is served still."""
        self.is_stopping = True

    def refuse_new(self) -> None:
        """Give the models to nobody from now on; what has them goes on."""
        self.is_stopping = self._refuses_new = True

    def stop(self) -> None:
        """Cut off what still runs, and close; whoever stops has waited before."""
        self.refuse_new()
        closed = self._pool is None or self._pool.close()  # first: no more models are preloaded
        # a reload under way ends, unless it hangs; of a start there is nothing to finish
        seconds = 0.0 if self.current is None else self.settings.drain_seconds + GRACE_SECONDS
        loaded = self._changing.acquire(timeout=seconds)
        last, self.current = self.current, None
        if loaded:
            self._changing.release()
        if last is not None:
            closed &= self._finish(last, 0.0) and loaded
        self.is_loading_still = last is None and not loaded
        self.has_hung |= not (closed or self.is_loading_still)

    def _start_all(self) -> ModelSet:
        started: list[ServedModel] = []
        try:
            pooled = self._find_pooled()
            for bundle in [load(folder) for folder in self.settings.named_bundles]:
                started.append(start_model(bundle, self._options, self.metrics, self._turns))
        except BaseException:
            for model in started:
                self.has_hung |= not model.close()
            raise
        if self._pool is not None:  # when nothing can fail any more
            wanted = self.settings.preload
            chosen = [one for one in pooled if ALL in wanted or one.bundle.manifest.name in wanted]
            self._pool.preload(chosen)
        return ModelSet(started, self.settings.max_text_characters, pooled, self.settings.pivot)

    def _new_pool(self) -> ModelPool:
        # beside others' work, how long a sentence takes alone cannot be measured
        options = replace(self._options, single_sequence=False)

        def start(bundle: Bundle) -> ServedModel:
            return start_model(load(bundle.folder), options, self.metrics, self._turns)

        max_bytes = self.settings.max_memory_mb * 1_000_000
        return ModelPool(start, max_bytes, self.settings.model_idle_seconds, self.metrics)

    def _find_pooled(self) -> list[PooledModel]:
        """The bundles of the folder, as they were where they have not changed.

        Raises:
            BundleError: there is none, or none of a name that is to be preloaded.
        """
        if self._pool is None or self.settings.bundles is None:
            return []
        before = self.current.pooled if self.current else ()
        known = {one.bundle.folder: one for one in before}
        found = []
        for bundle in find_bundles(self.settings.bundles, self.metrics):
            same = known.get(bundle.folder)
            is_same = same is not None and same.bundle == bundle and same.state != "failed"
            found.append(same if same is not None and is_same else PooledModel(bundle, self._pool))
        names = {one.bundle.manifest.name for one in found}
        if missing := sorted(set(self.settings.preload) - names - {ALL}):
            raise BundleError(
                f" has no bundle named {missing[0]} to preload", self.settings.bundles
            )
        return found

    def _loaded_labels(self) -> list[tuple[str, str, str]]:
        """Of each loaded model its name, and what really runs it."""
        models = self.current.models if self.current else []
        return [(one.bundle.manifest.name, one.provider, one.precision) for one in models]

    def _log_models(self, models: ModelSet) -> None:
        """Say in the log what is served."""
        for model in models.models:
            manifest = model.bundle.manifest
            said = f"{len(manifest.directions)} directions, {model.precision}, {model.provider}"
            logger.info("%s is ready: %s", manifest.name, said)
        if waiting := len(models.described) - len(models.models):
            logger.info("%d more bundles will be loaded on demand", waiting)

    def _retire(self, leaving: list[ModelSet], grace_seconds: float) -> None:
        """Let the models in `leaving` finish; it is emptied, so that their memory comes free."""
        time.sleep(grace_seconds)
        last = leaving.pop()
        self.has_hung |= not self._finish(last, self.settings.drain_seconds)
        if self._pool is not None:
            kept = self.current.pooled if self.current else ()
            self._pool.remove([one for one in last.pooled if one not in kept])
        del last
        gc.collect()
        trim()

    def _finish(self, models: ModelSet, drain_seconds: float) -> bool:
        if not models.drain(drain_seconds):
            logger.warning("%d sentences were not finished in time", models.num_running)
        closed = models.close()
        if not closed:
            logger.critical("a thread of the replaced models hangs")
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

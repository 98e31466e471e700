"""The interface through which models report their work; `metrics` implements it for Prometheus."""

from service.engine.types import StepStats


class Observer:
    """Ignores all events. Its methods may be called from any thread."""

    def on_step(self, stats: StepStats) -> None:
        """An engine has completed a step."""

    def on_fault(self, kind: str, count: int) -> None:
        """`count` failures of a kind: step, sentence, rerank, alignment or stall."""

    def on_outcome(self, direction: str, outcome: str, sentences: int) -> None:
        """A request has ended: ok, rejected, cancelled, expired or error."""

    def on_prepared(self, seconds: float) -> None:
        """A request's texts were split into sentences and tokens."""

    def on_loaded(self, seconds: float) -> None:
        """A model of the pool was loaded."""

    def on_load_failed(self) -> None:
        """A model of the pool could not be loaded."""

    def on_unloaded(self, reason: str) -> None:
        """A model of the pool was unloaded: idle, memory or removed."""

    def on_cached(self) -> None:
        """A sentence was answered from the cache."""

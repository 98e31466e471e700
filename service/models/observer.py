"""What models report about their work, as plain numbers; `metrics` counts them for Prometheus."""

from service.engine.types import StepStats


class Observer:
    """Told what the models of a process do, on any thread; does nothing with it."""

    def on_step(self, stats: StepStats) -> None:
        """A step of an engine has ended."""

    def on_fault(self, kind: str, count: int) -> None:
        """Something failed in an engine: step, sentence, rerank, alignment, stall; so many times."""

    def on_outcome(self, direction: str, outcome: str, sentences: int) -> None:
        """A request of so many sentences has ended: ok, rejected, cancelled, expired, error."""

    def on_prepared(self, seconds: float) -> None:
        """A request's texts were taken apart into sentences and tokens, in so many seconds."""

    def on_loaded(self, seconds: float) -> None:
        """A model of a folder was loaded, in so many seconds."""

    def on_load_failed(self) -> None:
        """A model of a folder could not be loaded."""

    def on_unloaded(self, reason: str) -> None:
        """A model of a folder was unloaded: idle, memory, removed."""

    def on_cached(self) -> None:
        """A sentence was given again without being translated again."""

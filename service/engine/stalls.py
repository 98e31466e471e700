"""Detects runs that do not end, on any thread."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.model_runner import Caches, ModelRunner, PackedRun, PackedState
from service.engine.sources import Cross, Sources
from service.engine.types import Floats, Ints, RunPlan

MAX_GAP_SECONDS = 5.0
"""Maximum time counted between two checks, so that a suspended process does not appear to hang."""
POLL_SECONDS = 0.01


@dataclass(eq=False, slots=True)
class _Run:
    """One run of a thread."""

    name: str
    count: Callable[[], int]
    """Returns what has been done of what the run waits for; another number means that it is not stalled."""
    seen: int = 0
    """The number at the last check."""
    first_seen: float | None = None
    """The detector's own time at the first check that saw the run, or its current number."""

    def restarted(self) -> "_Run":
        """Return the same run, seen by no check."""
        return _Run(self.name, self.count)


class Busy:
    """Registers a run of the current thread during a `with` block."""

    __slots__ = ("_outer", "_run", "_runs")

    def __init__(self, runs: dict[int, _Run], run: _Run) -> None:
        self._runs, self._run = runs, run
        self._outer: _Run | None = None

    def __enter__(self) -> None:
        thread = threading.get_ident()
        self._outer = self._runs.get(thread)
        self._runs[thread] = self._run.restarted()

    def progress(self) -> None:
        """Begin to count anew: the run goes on as it should. To be called on its thread."""
        self._runs[threading.get_ident()] = self._run.restarted()

    def __exit__(self, *_: object) -> None:
        thread = threading.get_ident()
        if self._outer is None:
            del self._runs[thread]
        else:
            self._runs[thread] = self._outer.restarted()


class StallDetector:
    """Tracks what each thread runs, and for how long. All methods may be called from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start without runs. `clock`, in seconds, is read only by `longest`."""
        self._clock = clock
        self._runs: dict[int, _Run] = {}  # by thread
        self._lock = threading.Lock()
        self._last_look: float | None = None
        self._watched = 0.0

    def busy(self, name: str, count: Callable[[], int] = int) -> Busy:
        """Register that this thread runs `name` during a `with` block. An outer run restarts after it.

        If the run waits for others, `count` returns how much these have done: it begins to count anew
        whenever that number is another one.
        """
        return Busy(self._runs, _Run(name, count))

    def longest(self) -> tuple[str, float]:
        """Return the name of the longest run, and for how many seconds it has been observed."""
        with self._lock:
            now = self._clock()
            if self._last_look is not None:
                self._watched += min(now - self._last_look, MAX_GAP_SECONDS)
            self._last_look = now
            name, longest = "nothing", 0.0
            for run in list(self._runs.values()):
                count = run.count()
                if run.first_seen is None or count != run.seen:
                    run.first_seen, run.seen = self._watched, count
                if self._watched - run.first_seen >= longest:
                    name, longest = run.name, self._watched - run.first_seen
            return name, longest

    def failure(self, limit: float) -> str | None:
        """Return which run has been observed for at least `limit` seconds, for the log; None if none has."""
        name, seconds = self.longest()
        return f"{name} has not ended for {seconds:.0f} s" if seconds >= limit else None

    def wait_until_idle(self, timeout: float) -> bool:
        """Wait until no run is left; return whether that was within `timeout` seconds."""
        end = time.monotonic() + timeout
        while self._runs and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        return not self._runs


class WatchedRunner:
    """A runner whose runs are registered with a StallDetector."""

    def __init__(self, runner: ModelRunner, watch: StallDetector) -> None:
        """Wrap `runner`."""
        self.runner, self.watch = runner, watch

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        """See ModelRunner."""
        with self.watch.busy("a run of the encoder"):
            return self.runner.encode(source_ids, source_bias)

    def new_sources(self, pad_id: int) -> Sources:
        """See ModelRunner."""
        return WatchedSources(self.runner.new_sources(pad_id), self.watch)

    def decode(
        self,
        state: PackedState,
        caches: Caches | None,
        cross: Cross,
        plan: RunPlan,
    ) -> PackedRun:
        """See ModelRunner."""
        with self.watch.busy("a run of the decoder"):
            return self.runner.decode(state, caches, cross, plan)

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """See ModelRunner."""
        with self.watch.busy("a run of the scorer"):
            return self.runner.score(source_ids, source_bias, target_ids)

    def release_memory(self, caches: Caches | None) -> None:
        """See ModelRunner."""
        self.runner.release_memory(caches)


class WatchedSources:
    """Sources whose runs of the encoder are registered with a StallDetector."""

    def __init__(self, sources: Sources, watch: StallDetector) -> None:
        """Wrap `sources`."""
        self.sources, self.watch = sources, watch

    @property
    def arrays(self) -> Cross:
        """See Sources."""
        return self.sources.arrays

    def admit(self, sources: Sequence[Sequence[int]]) -> list[int | None]:
        """See Sources."""
        with self.watch.busy("a run of the encoder"):
            return self.sources.admit(sources)

    def retire(self, rows: Sequence[int]) -> None:
        """See Sources."""
        self.sources.retire(rows)

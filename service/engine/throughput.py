"""Estimates how long an engine's queue will take. Imports nothing from the project."""

from collections import deque

KEPT = 256
"""Maximum number of finished sentences that estimates are based on."""
KEPT_SECONDS = 5.0
"""Maximum age of these sentences, in seconds of a non-empty queue."""
FEWEST = 8
"""Minimum number of these sentences: those of a batch finish together."""
WEIGHT_KEPT = 0.98
"""Decay of the average time in a batch per new sentence: about fifty sentences count."""


class Throughput:
    """Measures work per second while sentences wait, so that all rows are in use. The caller holds a lock."""

    def __init__(self) -> None:
        """Start without measurements."""
        # after each finished sentence: total seconds with a non-empty queue, and total work done in them
        self._done: deque[tuple[float, float]] = deque([(0.0, 0.0)], maxlen=KEPT)
        self._since: float | None = None  # when a sentence last finished, if others waited then
        # decaying sums over finished sentences
        self._tokens = self._seconds = 0.0
        self._runs = self._run_seconds = 0.0  # of sentences that are not long

    def add(self, cost: float, now: float, somebody_waits: bool) -> None:
        """Record a sentence that has left its batch, and the work done on it."""
        if self._since is not None and somebody_waits:
            seconds, work = self._done[-1]
            self._done.append((seconds + now - self._since, work + cost))
            while (
                len(self._done) > FEWEST + 1 and self._done[-1][0] - self._done[0][0] > KEPT_SECONDS
            ):
                self._done.popleft()
        self._since = now if somebody_waits else None

    def add_run(self, tokens: int, seconds: float, *, is_long: bool) -> None:
        """Record how long a sentence was in a batch."""
        self._tokens = WEIGHT_KEPT * self._tokens + tokens
        self._seconds = WEIGHT_KEPT * self._seconds + seconds
        if not is_long:
            self._runs = WEIGHT_KEPT * self._runs + 1
            self._run_seconds = WEIGHT_KEPT * self._run_seconds + seconds

    def seconds_for(self, cost: float, now: float) -> float | None:
        """Estimate how long an amount of work will take; None if unknown."""
        (start, work_before), (seconds, work) = self._done[0], self._done[-1]
        if self._since is not None:
            seconds += now - self._since
        if len(self._done) <= FEWEST or work <= work_before:
            return None
        return cost * (seconds - start) / (work - work_before)

    def seconds_in_batch(self, tokens: int) -> float:
        """Estimate how long a sentence will be in a batch; 0 if unknown."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0

    @property
    def usual_seconds_in_batch(self) -> float:
        """The average time in a batch of a sentence that is not long; 0 if unknown."""
        return self._run_seconds / self._runs if self._runs else 0.0

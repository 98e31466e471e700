"""Work that is owed to requests that take turns, and how long it takes. Imports nothing of the project."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WEIGHT_KEPT = 0.99
"""Of what was measured before, at each new measurement: the last hundred count."""


@dataclass(eq=False, slots=True)
class Promise:
    """What one request is owed."""

    left: float
    """Of its cost."""
    seconds: float
    """In which all of it should be done; 0 where nobody else was owed anything, or that could not be told."""


class Backlog:
    """What is still to be done for everybody; used by one thread alone, the event loop's."""

    def __init__(self, threads: int) -> None:
        """Nothing is promised; the work of one request is never on two of the `threads` at once."""
        self.threads = threads
        self._promises: set[Promise] = set()
        self._cost = self._seconds = 0.0  # measured, the latest with the most weight

    @contextmanager
    def promised(self, cost: float) -> Iterator[Promise]:
        """Count so much work until the end of the block, or until it is done."""
        promise = Promise(cost, self._seconds_for(cost))
        self._promises.add(promise)
        try:
            yield promise
        finally:
            self._promises.discard(promise)

    def measured(self, cost: float, seconds: float) -> None:
        """Note that a thread did so much work in so many seconds."""
        self._cost = WEIGHT_KEPT * self._cost + cost
        self._seconds = WEIGHT_KEPT * self._seconds + seconds

    @property
    def seconds(self) -> float:
        """In which all that is promised should be done; 0 while nothing was measured."""
        costs = [promise.left for promise in self._promises]
        return max(sum(costs) / self.threads, max(costs, default=0.0)) * self._seconds_a_unit

    def _seconds_for(self, cost: float) -> float:
        """Seconds until a new request of that cost would be done; 0 for one that has nobody before it.

        By then, each of the others has had as many turns, or all that it needs.
        """
        before = sum(min(promise.left, cost) for promise in self._promises)
        if not before:
            return 0.0
        return max(cost, (before + cost) / self.threads) * self._seconds_a_unit

    @property
    def _seconds_a_unit(self) -> float:
        return self._seconds / self._cost if self._cost else 0.0

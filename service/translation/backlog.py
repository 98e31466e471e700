"""The pending work of requests that take turns, and its duration. Imports nothing from the project."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WEIGHT_KEPT = 0.99
"""Weight of earlier measurements at each new one: about the last hundred count."""


@dataclass(eq=False, slots=True)
class Promise:
    """The pending work of one request."""

    left: float
    """The cost of what is not done yet."""
    seconds: float
    """Estimated time until all was done, at the beginning; 0 if no other work was pending, or without
    measurements."""


class Backlog:
    """The pending work of all requests. It must be used from a single thread, the event loop's."""

    def __init__(self, threads: int) -> None:
        """Start without work. A request's work never runs on two of the `threads` at once."""
        self.threads = threads
        self._promises: set[Promise] = set()
        self._cost = self._seconds = 0.0  # measured, the latest with the most weight

    @contextmanager
    def promised(self, cost: float) -> Iterator[Promise]:
        """Count the work as pending until the end of the block; the caller reduces `left` as it is done."""
        promise = Promise(cost, self._seconds_for(cost))
        self._promises.add(promise)
        try:
            yield promise
        finally:
            self._promises.discard(promise)

    def measured(self, cost: float, seconds: float) -> None:
        """Record how long a thread took for some work."""
        self._cost = WEIGHT_KEPT * self._cost + cost
        self._seconds = WEIGHT_KEPT * self._seconds + seconds

    @property
    def seconds(self) -> float:
        """Estimated time until all pending work is done; 0 without measurements."""
        costs = [promise.left for promise in self._promises]
        return max(sum(costs) / self.threads, max(costs, default=0.0)) * self._seconds_a_unit

    def _seconds_for(self, cost: float) -> float:
        """Estimate the seconds until a new request of that cost is done; 0 if no other work is pending.

        Until then, each of the other requests has as many turns, unless it needs fewer.
        """
        cost_before = sum(min(promise.left, cost) for promise in self._promises)
        if not cost_before:
            return 0.0
        return max(cost, (cost_before + cost) / self.threads) * self._seconds_a_unit

    @property
    def _seconds_a_unit(self) -> float:
        return self._seconds / self._cost if self._cost else 0.0

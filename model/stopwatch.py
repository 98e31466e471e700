"""The training time of a run over all its sessions, and the share of its limit that is left."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns seconds since any fixed point in time."""


class Stopwatch:
    """Counts minutes of training against a limit."""

    def __init__(self, limit: float, clock: Clock = time.monotonic) -> None:
        """Start now; `limit` is in minutes, or 0 for no limit."""
        self.limit, self._clock = limit, clock
        self.go_on_from(0.0)

    def go_on_from(self, minutes: float) -> None:
        """Start now, with `minutes` from earlier sessions."""
        self._start = self._clock() - 60 * minutes

    @property
    def minutes(self) -> float:
        """Minutes of training so far."""
        return (self._clock() - self._start) / 60

    @property
    def share_left(self) -> float:
        """The share of the limit that is left, from 1 down to 0; without a limit, always 1."""
        return max(0.0, 1 - self.minutes / self.limit) if self.limit else 1.0

"""How long a run has trained, in all its sessions together, and how much of its time is left."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since any moment."""


class Stopwatch:
    """Counts minutes of training against a limit."""

    def __init__(self, limit: float, clock: Clock = time.monotonic) -> None:
        """Start now; `limit` is in minutes, 0 for none."""
        self.limit, self._clock = limit, clock
        self.go_on_from(0.0)

    def go_on_from(self, minutes: float) -> None:
        """Start now, after so many minutes of earlier sessions."""
        self._start = self._clock() - 60 * minutes

    @property
    def minutes(self) -> float:
        """Trained so far."""
        return (self._clock() - self._start) / 60

    @property
    def share_left(self) -> float:
        """Of the limit, from 1 down to 0; without a limit, always 1."""
        return max(0.0, 1 - self.minutes / self.limit) if self.limit else 1.0

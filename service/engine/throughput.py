"""How fast an engine works, and so how long a line will take. Imports nothing of the project."""

from collections import deque

KEPT = 256
"""Sentences that are looked back at."""
KEPT_SECONDS = 5.0
"""In which they left: older ones say less about what waits now."""
FEWEST = 8
"""Sentences that must have left before anything is told: those of a batch leave together."""
WEIGHT_KEPT = 0.98
"""Of how long sentences were in a batch, at each new one: the last fifty count."""


class Throughput:
    """Work a second while somebody waits, so that no place is empty; its caller holds a lock."""

    def __init__(self) -> None:
        """Know nothing yet."""
        # seconds in which somebody waited, and the work done in them, by then
        self._done: deque[tuple[float, float]] = deque([(0.0, 0.0)], maxlen=KEPT)
        self._since: float | None = None  # when one last left, if somebody waited then
        # of sentences in a batch, the latest with the most weight
        self._tokens = self._seconds = self._runs = 0.0

    def add(self, cost: float, now: float, somebody_waits: bool) -> None:
        """A sentence has left, on which so much work was done."""
        if self._since is not None and somebody_waits:
            seconds, work = self._done[-1]
            self._done.append((seconds + now - self._since, work + cost))
            while (
                len(self._done) > FEWEST + 1 and self._done[-1][0] - self._done[0][0] > KEPT_SECONDS
            ):
                self._done.popleft()
        self._since = now if somebody_waits else None

    def add_run(self, tokens: int, seconds: float) -> None:
        """A sentence of so many tokens was in a batch for so long."""
        self._tokens = WEIGHT_KEPT * self._tokens + tokens
        self._seconds = WEIGHT_KEPT * self._seconds + seconds
        self._runs = WEIGHT_KEPT * self._runs + 1

    def seconds_for(self, cost: float, now: float) -> float | None:
        """How long so much work should take; None while that cannot be told."""
        (since, before), (seconds, work) = self._done[0], self._done[-1]
        if self._since is not None:
            seconds += now - self._since
        if len(self._done) <= FEWEST or work <= before:
            return None
        return cost * (seconds - since) / (work - before)

    def seconds_in_batch(self, tokens: int) -> float:
        """How long a sentence of so many tokens should be in a batch; 0 while that cannot be told."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0

    @property
    def usual_seconds_in_batch(self) -> float:
        """How long a sentence is in a batch on average; 0 while that cannot be told."""
        return self._seconds / self._runs if self._runs else 0.0

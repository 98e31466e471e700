"""How fast an engine works, and so how long a line will take. Imports nothing of the project."""

from collections import deque

KEPT = 256
"""Sentences that are looked back at."""


class Throughput:
    """Tokens a second over the last sentences of a busy stretch; its caller holds a lock."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._done: deque[tuple[float, int]] = deque(maxlen=KEPT)  # times, and tokens by then

    def restart(self, now: float) -> None:
        """Begin a busy stretch: the idle time before it says nothing about speed."""
        if self._done:
            rate = self._rate(self._done[-1][0])
            self._done.clear()
            if rate:  # what was learnt stays as one entry, until there is better
                self._done.extend([(now - 1.0, 0), (now, round(rate))])

    def add(self, tokens: int, now: float) -> None:
        """A sentence of so many tokens has left."""
        before = self._done[-1][1] if self._done else 0
        self._done.append((now, before + tokens))

    def seconds_for(self, tokens: int, now: float) -> float | None:
        """How long so many tokens should take; None while that cannot be told."""
        rate = self._rate(now)
        return tokens / rate if rate else None

    def _rate(self, now: float) -> float | None:
        if len(self._done) < 2:
            return None
        (since, before), (_, by_now) = self._done[0], self._done[-1]
        seconds, tokens = now - since, by_now - before
        return tokens / seconds if seconds > 0 and tokens else None

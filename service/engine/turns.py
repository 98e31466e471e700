"""Limits the concurrent steps of engines that share cores. Imports nothing from the project."""

import threading
from collections import deque


class Turns:
    """A fair semaphore: threads are served in the order in which they began to wait."""

    def __init__(self, count: int) -> None:
        """Allow `count` threads at the same time."""
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[threading.Lock] = deque()
        self._num_ended = 0

    def __enter__(self) -> None:
        """Wait for a turn."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(self, *_: object) -> None:
        """Pass the turn on to the thread that has waited longest."""
        with self._lock:
            self._num_ended += 1
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def num_ended(self) -> int:
        """Return how many turns have ended so far."""
        return self._num_ended

"""Turns on the cores that engines share. Imports nothing of the project."""

import threading
from collections import deque


class Turns:
    """A semaphore whose waiters are served in order: who comes again at once does not overtake them."""

    def __init__(self, count: int) -> None:
        """So many may have a turn at the same time."""
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        """Wait for a turn."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        mine.acquire()

    def __exit__(self, *_: object) -> None:
        """Hand the turn over to whoever has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

"""A condition variable for idle workers. Imports nothing of the project."""

import threading


class LifoCondition:
    """Wakes the thread that began to wait last: the cache of its core is the warmest.

    As with a condition, the lock must be held by whoever calls.
    """

    def __init__(self, lock: "threading.RLock") -> None:
        """Nobody waits."""
        self._lock = lock
        self._waiting: list[threading.Condition] = []

    def wait(self) -> None:
        """Give the lock back until this thread is woken."""
        mine = threading.Condition(self._lock)
        self._waiting.append(mine)
        mine.wait()

    def notify(self, count: int) -> None:
        """Wake so many, or as many as wait."""
        for _ in range(min(count, len(self._waiting))):
            self._waiting.pop().notify()

    def notify_all(self) -> None:
        """Wake all that wait."""
        self.notify(len(self._waiting))

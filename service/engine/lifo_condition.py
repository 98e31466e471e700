"""A condition variable for idle workers. Imports nothing from the project."""

import threading


class LifoCondition:
    """Wakes the thread that has waited for the shortest time, whose core has the warmest cache.

    As with `threading.Condition`, the caller must hold the lock.
    """

    def __init__(self, lock: "threading.RLock") -> None:
        """Use this lock."""
        self._lock = lock
        self._waiting: list[threading.Condition] = []

    def wait(self) -> None:
        """Release the lock until this thread is woken."""
        condition = threading.Condition(self._lock)
        self._waiting.append(condition)
        condition.wait()

    def notify(self, count: int) -> None:
        """Wake `count` threads, or all if fewer wait."""
        for _ in range(min(count, len(self._waiting))):
            self._waiting.pop().notify()

    def notify_all(self) -> None:
        """Wake all waiting threads."""
        self.notify(len(self._waiting))

"""Threads that are started early.

While memory is short, a new thread may die before it reports that it runs, and `Thread.start` then waits for
ever. So the event loop never starts one: all its threads exist before the first request.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread


class ThreadError(RuntimeError):
    """No more threads can be started."""

    def __init__(self, name: str) -> None:
        """`name` is that of the thread."""
        super().__init__(
            f"the thread {name} could not be started: the limit on threads (ulimit -u, or that of the "
            "container) or on memory (ulimit -v or -d) is too low"
        )


class Threads(ThreadPoolExecutor):
    """A pool that can start its threads before there is work for them."""

    def __init__(self, count: int, name: str) -> None:
        """Make a pool of `count` threads, called `name` in dumps; without `start`, work starts them."""
        super().__init__(count, name)
        self._count, self._name = count, name

    def start(self) -> None:
        """Start all threads.

        Raises:
            ThreadError: one of them could not be started.
        """
        all_started = Barrier(self._count)
        try:
            for meeting in [self.submit(all_started.wait) for _ in range(self._count)]:
                meeting.result()
        except RuntimeError:
            all_started.abort()
            raise ThreadError(self._name) from None


def start_daemon(name: str, target: Callable[[], object]) -> None:
    """Run `target` on a new thread, which does not keep the process from ending.

    Raises:
        ThreadError: the thread could not be started.
    """
    try:
        Thread(target=target, name=name, daemon=True).start()
    except RuntimeError:
        raise ThreadError(name) from None

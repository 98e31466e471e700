"""Time that passes as soon as nothing else can happen, for one event loop and its threads.

Of all threads, only one runs at any time: the event loop's, or one that the loop has resumed until it sleeps,
waits or ends. So a run can be repeated exactly. `replace_clocks` makes the service use these instead of
`threading` and `time`.
"""

import asyncio
import random
import selectors
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextvars import copy_context
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar

import pytest

Value = TypeVar("Value")
EXECUTOR_SECONDS = (0.0, 0.0, 0.001, 0.02)
"""How long it may take until a thread of a pool begins its work."""


class Clock(selectors.DefaultSelector):
    """Advances the time where an event loop would wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everybody waits, and nothing will happen"
        Clock.now += timeout
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop that uses the clock, and whose executors use simulated threads."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(Clock())
        self._rng = rng
        Thread.loop, Thread.all = self, []

    def time(self) -> float:
        return Clock.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Value], *args: Any
    ) -> asyncio.Future[Value]:
        if getattr(executor, "_shutdown", False):
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Value] = Future()
        seconds = self._rng.choice(EXECUTOR_SECONDS)

        def run() -> None:
            sleep(seconds)
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(func(*args))
                except BaseException as error:
                    future.set_exception(error)

        Thread(copy_context().run, (run,), "executor").start()
        return asyncio.wrap_future(future, loop=self)


class Thread:
    """A thread that the event loop resumes; the loop waits meanwhile."""

    loop: ClassVar[Loop]
    all: ClassVar[list["Thread"]]
    """The threads that have not ended."""
    current: ClassVar["Thread | None"] = None

    def __init__(
        self,
        target: Callable[..., object],
        args: Sequence[Any] = (),
        name: str = "",
        daemon: bool = True,
    ) -> None:
        del daemon
        self.name, self.ident = name, None
        self._run = partial(target, *args)
        self._resumed, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._is_alive = True
        self._pauses = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.ident = id(self)  # type: ignore[assignment]
        self.all.append(self)
        threading.Thread(target=self._work, name=self.name, daemon=True).start()
        self.loop.call_soon(self._resume, 0)

    def is_alive(self) -> bool:
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        _wait_until(lambda: not self._is_alive, timeout)

    def pause(self, seconds: float | None) -> Callable[[], object]:
        """Prepare to let others run, for up to that long; return a function that ends the pause earlier."""
        self._pauses += 1
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._resume, self._pauses)
        return partial(self.loop.call_soon, self._resume, self._pauses)

    def wait(self) -> None:
        """Let others run until the pause ends."""
        Thread.current = None
        self._paused.release()
        self._resumed.acquire()

    def _resume(self, pause: int) -> None:
        if pause != self._pauses:  # it has ended already
            return
        self._pauses += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        Thread.current = self
        self._resumed.release()
        self._paused.acquire()
        Thread.current = None

    def _work(self) -> None:
        self._resumed.acquire()
        try:
            self._run()
        except BaseException as error:
            what = {"message": f"the thread {self.name} has failed", "exception": error}
            self.loop.call_soon(self.loop.call_exception_handler, what)
        finally:
            self._is_alive = False
            self.all.remove(self)
            self._paused.release()


def sleep(seconds: float | None) -> None:
    """Let simulated time pass in a simulated thread."""
    thread = Thread.current
    assert thread is not None, "the event loop sleeps"
    thread.pause(seconds)
    thread.wait()


def _wait_until(is_over: Callable[[], bool], timeout: float | None) -> bool:
    end = None if timeout is None else Clock.now + timeout
    while not is_over() and (end is None or Clock.now < end):
        sleep(0.01)
    return is_over()


class Lock:
    """A lock, for which threads may wait; the event loop must find it free."""

    def __init__(self) -> None:
        self.owner: object = None
        self.count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self.is_free():
            limit = None if timeout < 0 else timeout
            if not (blocking and _wait_until(self.is_free, limit)):
                return False
        self.owner = Thread.current or "the event loop"
        self.count += 1
        return True

    def release(self) -> None:
        self.count -= 1
        if not self.count:
            self.owner = None

    def locked(self) -> bool:
        return self.owner is not None

    def is_free(self) -> bool:
        return self.owner is None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """A lock that its owner may acquire again."""

    def is_free(self) -> bool:
        return self.owner in (None, Thread.current or "the event loop")


class Condition:
    """A condition variable."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiting: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> None:
        thread = Thread.current
        assert thread is not None, "the event loop waits for a thread"
        resume = thread.pause(timeout)
        self._waiting.append(resume)
        count = self._lock.count
        self._lock.owner, self._lock.count = None, 0
        thread.wait()
        if resume in self._waiting:
            self._waiting.remove(resume)
        self._lock.acquire()
        self._lock.count = count

    def wait_for(self, is_over: Callable[[], Any], timeout: float | None = None) -> Any:
        end = None if timeout is None else Clock.now + timeout
        while not (found := is_over()) and (end is None or Clock.now < end):
            self.wait(None if end is None else end - Clock.now)
        return found

    def notify(self, count: int = 1) -> None:
        for resume in self._waiting[:count]:
            resume()
        del self._waiting[:count]

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class Waited(Future[Any]):
    """A future that a simulated thread may wait for."""

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if Thread.current:
            _wait_until(self.done, timeout)
        return super().exception(0)


def replace_clocks(patch: pytest.MonkeyPatch) -> None:
    """Make all loaded modules of the service use simulated time and threads, except its log."""
    threads = SimpleNamespace(
        Thread=Thread,
        Lock=Lock,
        RLock=RLock,
        Condition=Condition,
        Event=threading.Event,
        get_ident=threading.get_ident,
        local=threading.local,
    )
    times = SimpleNamespace(
        monotonic=lambda: Clock.now, perf_counter=lambda: Clock.now, sleep=sleep
    )
    for name, module in sys.modules.items():
        if name.startswith("service.") and name != "service.logs":
            for real, substitute in ((threading, threads), (time, times)):
                if vars(module).get(real.__name__) is real:
                    patch.setattr(module, real.__name__, substitute)
    patch.setattr("service.models.pool.Future", Waited)

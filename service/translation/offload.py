"""Runs long CPU work in a thread, until it is done or no longer wanted."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar

from service.engine.stalls import Busy
from service.errors import CancelledError, DeadlineExceededError, NotReadyError

Result = TypeVar("Result")
Check = Callable[[], None]
"""Called regularly by long work; raises an error that ends the work if it is no longer wanted."""


async def run_in_thread(
    work: Callable[[Check], Result],
    clock: Callable[[], float],
    deadline: float,
    executor: Executor,
    busy: Busy,
    turn: AbstractAsyncContextManager[None] | None = None,
) -> Result:
    """Run `work` on another thread and return its result; if the caller is cancelled, the work ends early.

    Args:
        work: takes a function that it must call regularly.
        clock: seconds.
        deadline: by `clock`; the work ends early when it has passed.
        executor: the threads to use.
        busy: entered on the thread, so that work that hangs is noticed.
        turn: entered before the work begins.

    Raises:
        DeadlineExceededError: the deadline passed before the work was finished.
        NotReadyError: the executor was shut down before the work could begin.
    """
    given_up = threading.Event()
    seconds_left = max(0.0, deadline - clock())
    message = f"not finished within the deadline of {seconds_left:.3f} s"

    def check() -> None:
        if given_up.is_set():
            raise CancelledError("the result is no longer wanted")
        if clock() > deadline:
            raise DeadlineExceededError(message)
        busy.progress()

    def watched() -> Result:
        with busy:
            return work(check)

    try:
        # ends even if no thread becomes free
        async with asyncio.timeout(seconds_left), turn or nullcontext():
            run = contextvars.copy_context().run  # so that log lines name the request
            try:
                result = asyncio.get_running_loop().run_in_executor(executor, run, watched)
            except RuntimeError:  # the executor was shut down
                raise NotReadyError("the service is stopping") from None
            return await result
    except TimeoutError:
        raise DeadlineExceededError(message) from None
    finally:
        given_up.set()


def timed(work: Callable[[Check], Result]) -> Callable[[Check], tuple[Result, float]]:
    """Wrap work so that it also returns how many seconds it took."""

    def run(check: Check) -> tuple[Result, float]:
        started = time.perf_counter()
        return work(check), time.perf_counter() - started

    return run

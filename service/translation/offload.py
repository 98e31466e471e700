"""Long CPU work in a thread beside the event loop, as long as somebody waits for it."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from service.errors import CancelledError, DeadlineExceededError, NotReadyError

Result = TypeVar("Result")
Check = Callable[[], None]
"""Called again and again by work that may be long; what it raises ends the work."""


async def run_in_thread(
    work: Callable[[Check], Result],
    clock: Callable[[], float],
    deadline: float,
    executor: Executor | None = None,
) -> Result:
    """The result of `work` on another thread.

    Args:
        work: is given what it has to call, so that it ends when nobody waits for it any more.
        clock: in seconds.
        deadline: by `clock`, when it is given up, as it is when the caller is cancelled.
        executor: whose thread; by default one of the event loop's own.

    Raises:
        DeadlineExceededError: it passed before the end.
        NotReadyError: the executor was shut down before the work could begin.
    """
    given_up = threading.Event()
    left = max(0.0, deadline - clock())
    too_late = f"the deadline passed, which was {left:.3f} s away"

    def check() -> None:
        if given_up.is_set():
            raise CancelledError("nobody waits for it any more")
        if clock() > deadline:
            raise DeadlineExceededError(too_late)

    try:
        async with asyncio.timeout(left):  # even if no thread is free
            run = contextvars.copy_context().run  # log lines name the request
            try:
                result = asyncio.get_running_loop().run_in_executor(executor, run, work, check)
            except RuntimeError:  # it takes nothing more
                raise NotReadyError("the service is stopping") from None
            return await result
    except TimeoutError:
        raise DeadlineExceededError(too_late) from None
    finally:
        given_up.set()

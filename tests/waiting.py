"""Waiting for conditions with a deadline."""

import asyncio
import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool], seconds: float = 60.0, pause_seconds: float = 0.001
) -> None:
    """Block this thread until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"the condition does not hold after {seconds:g} s"
        time.sleep(pause_seconds)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds, without blocking the event loop."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"the condition does not hold after {seconds:g} s"
        await asyncio.sleep(0.001)

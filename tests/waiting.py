"""Waits for what others do, up to a deadline."""

import asyncio
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for it on this thread."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds:g} s"
        time.sleep(0.001)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for it while others have their turn on the event loop."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds:g} s"
        await asyncio.sleep(0.001)

"""Notices work that hangs on a thread, except the engines', which have watches of their own."""

import time
from collections.abc import Callable
from typing import TypeVar

from service.engine.stalls import StallDetector

Result = TypeVar("Result")

WATCH = StallDetector(time.monotonic)
"""What runs now; the application checks how long it has run."""


def watched(name: str, work: Callable[[], Result]) -> Result:
    """Run work on the current thread; if it hangs, `name` says what hangs."""
    with WATCH.busy(name):
        return work()

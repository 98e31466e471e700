"""Notices work of the HTTP layer that hangs on a thread."""

import time
from collections.abc import Callable
from typing import TypeVar

from service.engine.stalls import StallDetector

Result = TypeVar("Result")

WATCH = StallDetector(time.monotonic)
"""The work of `watched`; the application checks how long it takes."""


def watched(name: str, work: Callable[[], Result]) -> Result:
    """Run work on the current thread; if it hangs, `name` says what hangs."""
    with WATCH.busy(name):
        return work()

"""Measures how CPU time grows with the input, to distinguish linear from quadratic time in tests."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")

GROWTH, SECONDS = 9, 0.01
"""How many times as long fourfold input may take (quadratic: 16), and the time that is always allowed."""
TRIES = 4
"""Maximum repetitions, of which the fastest counts, since other threads evict caches."""


def seconds(step: Callable[[Given], object], given: Given) -> float:
    """Measure the CPU time of a step on this thread."""
    gc.disable()  # it would also traverse the objects of other tests
    try:
        started = time.thread_time()
        step(given)
        return time.thread_time() - started
    finally:
        gc.enable()


def beyond_linear(step: Callable[[Given], object], inputs: Callable[[int], Given]) -> str:
    """Check that a step's time grows linearly; return the times if it does not, or else an empty string.

    `inputs(n)` makes an input of n times the basic length, where n is 1 or 4.
    """
    best = dict.fromkeys((4, 1), float("inf"))
    for _ in range(TRIES):
        for times in best:
            best[times] = min(best[times], seconds(step, inputs(times)))
            if best[4] <= SECONDS:
                return ""
        if best[4] <= GROWTH * best[1] + SECONDS:
            return ""
    return ", ".join(f"{times} x: {1e3 * taken:.1f} ms" for times, taken in best.items())

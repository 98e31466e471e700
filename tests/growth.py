"""Measures how CPU time grows with the input, to distinguish linear from quadratic time in tests."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")

GROWTH, SECONDS = 9, 0.01
"""How many times as long fourfold input may take (quadratic: 16), and the time that is always allowed."""
DOUBLING = 2.5
"""How many times as long twofold input takes at least if the growth is beyond linear.

Times of `a * n + b * n**2` that exceed `GROWTH` grow at least 2.8-fold with each doubling. A jump at
one length, such as that after which the rest of a text is ignored, is not growth.
"""
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

    `inputs(n)` makes an input of n times the basic length, where n is 1, 2 or 4.
    """
    best = dict.fromkeys((4, 2, 1), float("inf"))
    for _ in range(TRIES):
        for times in best:
            best[times] = min(best[times], seconds(step, inputs(times)))
            if best[4] <= SECONDS:
                return ""
        if best[4] <= GROWTH * best[1] + SECONDS:
            return ""
    if best[2] < DOUBLING * best[1] or best[4] < DOUBLING * best[2]:
        return ""
    return ", ".join(f"{times} x: {1e3 * taken:.1f} ms" for times, taken in best.items())

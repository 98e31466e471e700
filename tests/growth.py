"""How the CPU time of a step grows with its input: the tests' way to tell linear from quadratic."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")

GROWTH, SECONDS = 9, 0.01
"""How many times as long four times the input may take (16 were quadratic), and how long any may."""
TRIES = 4
"""Of a measurement that looks wrong, of which the best counts: other threads take caches away."""


def seconds(step: Callable[[Given], object], given: Given) -> float:
    """CPU time of this thread."""
    gc.disable()  # which would look at the objects of other tests, too
    try:
        started = time.thread_time()
        step(given)
        return time.thread_time() - started
    finally:
        gc.enable()


def beyond_linear(step: Callable[[Given], object], inputs: Callable[[int], Given]) -> str:
    """What is wrong with how a step's time grows; nothing, if empty.

    `inputs` makes the input of a step that is once or four times as long.
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

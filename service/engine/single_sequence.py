"""Measures whether a sentence that is alone in the engine runs faster on all cores than on one.

It does if a step is long (`base`: 1.2 to 1.4 times on two cores), but not if a step is short (the bundled
model: 0.95 times), because threads must be synchronised. So both are tried when a model is loaded.
"""

import logging
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from service.engine import cache, packing
from service.engine.model_runner import ModelRunner
from service.engine.runner import OnnxModelRunner
from service.engine.sources import pad
from service.engine.types import DecodingOptions, RunPlan, SpecialIds

logger = logging.getLogger(__name__)

SOURCE_TOKENS, STEPS, ROUNDS = 16, 8, 5
WORTHWHILE = 1.1
"""Minimum speed-up, because it takes memory for another copy of the weights."""


def runner_for_one(
    encoder: Path, decoder: Path, baseline: ModelRunner, special: SpecialIds, threads: int
) -> OnnxModelRunner | None:
    """Return a runner with `threads` threads per operator if it is faster than `baseline`, else None."""
    if threads < 2:
        return None
    multithreaded = OnnxModelRunner(encoder, decoder, threads=threads)
    is_worthwhile = is_faster(multithreaded, baseline, special)
    logger.info("a single sentence runs on %d thread(s)", threads if is_worthwhile else 1)
    return multithreaded if is_worthwhile else None


def is_faster(
    multithreaded: ModelRunner,
    baseline: ModelRunner,
    special: SpecialIds,
    clock: Callable[[], float] = time.perf_counter,
) -> bool:
    """Measure whether a runner with several threads per operator is faster by `WORTHWHILE`."""
    durations_of_both: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for runner, durations in zip((multithreaded, baseline), durations_of_both, strict=True):
            durations.append(_seconds_a_step(runner, special, clock))
    multithreaded_seconds, baseline_seconds = (
        statistics.median(durations[1:]) for durations in durations_of_both
    )  # the first run warms up
    return multithreaded_seconds * WORTHWHILE <= baseline_seconds


def _seconds_a_step(runner: ModelRunner, special: SpecialIds, clock: Callable[[], float]) -> float:
    options = DecodingOptions(STEPS + 2, min_decoding_length=STEPS)
    source = [special.bos] * (SOURCE_TOKENS - 1) + [special.eos]
    ids, bias = pad([source], special.pad)
    state = cache.admit(cache.empty_state(), [options], [0], [SOURCE_TOKENS], special.bos)
    plan = RunPlan(STEPS, 1, np.zeros((0, 3), np.int64))
    started = clock()
    run = packing.decode(runner, state, None, runner.encode(ids, bias), plan)
    return (clock() - started) / len(run.scores)

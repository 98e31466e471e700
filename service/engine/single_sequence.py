"""A sentence that has the engine to itself: whether all cores together are faster for it than one is.

They are where a step is long (base: 1.2 to 1.4 times on two cores), and lose to their own coordination
where it is short (the bundled model: 0.95 times); so both ways are tried, once, when an engine is made.
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
from service.engine.types import DecodingOptions, RunPlan, SpecialIds

logger = logging.getLogger(__name__)

SOURCE_TOKENS, STEPS, ROUNDS = 16, 8, 5
WORTHWHILE = 1.1
"""How much faster it must be, as it takes memory for a second copy of the weights."""


def runner_for_one(
    encoder: Path, decoder: Path, beside: ModelRunner, special: SpecialIds, threads: int
) -> OnnxModelRunner | None:
    """The same graphs with several threads an operator, if that is faster than `beside` for one sentence."""
    if threads < 2:
        return None
    several = OnnxModelRunner(encoder, decoder, threads=threads)
    pays = is_faster(several, beside, special)
    logger.info("a single sentence runs on %d thread(s)", threads if pays else 1)
    return several if pays else None


def is_faster(
    several: ModelRunner,
    one: ModelRunner,
    special: SpecialIds,
    clock: Callable[[], float] = time.perf_counter,
) -> bool:
    """Whether a runner with several threads an operator is worth having beside one with one."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for runner, found in zip((several, one), times, strict=True):
            found.append(_seconds_a_step(runner, special, clock))
    mine, other = (statistics.median(found[1:]) for found in times)  # the first ones allocate
    return mine * WORTHWHILE <= other


def _seconds_a_step(runner: ModelRunner, special: SpecialIds, clock: Callable[[], float]) -> float:
    options = DecodingOptions(STEPS + 2, min_decoding_length=STEPS)
    source = [special.bos] * (SOURCE_TOKENS - 1) + [special.eos]
    ids, bias = cache.pad([source], special.pad)
    state = cache.admit(cache.empty_state(), [options], [0], [SOURCE_TOKENS], special.bos)
    plan = RunPlan(STEPS, 1, np.zeros((0, 3), np.int64))
    started = clock()
    run = packing.decode(runner, state, None, runner.encode(ids, bias), plan)
    return (clock() - started) / len(run.scores)

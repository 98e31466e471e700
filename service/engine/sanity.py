"""Checks that the decoder's output is valid, because a graph may fail without an error."""

import math

import numpy as np
from numpy.typing import NDArray

from service.engine.packing import DecoderRun
from service.engine.types import DecoderState, Floats, Ints

Flags = NDArray[np.bool_]


def plausible_rows(before: DecoderState, run: DecoderRun, max_steps: int, vocab_size: int) -> Flags:
    """Return which sentences have valid values, [B]: no score is NaN or +inf, and all ids and parents exist.

    -inf is valid: it is the log-probability of banned tokens.

    Raises:
        ValueError: an array has a wrong shape, so that all sentences are invalid.
    """
    (rows, beams), steps = before.ids.shape, len(run.scores)
    if not 1 <= steps <= max_steps:
        raise ValueError(f"the decoder took {steps} steps of at most {max_steps}")
    per_step, per_beam = (steps, rows, 2 * beams), (rows, beams)
    state = run.state
    shapes: tuple[tuple[str, Floats | Ints, tuple[int, ...]], ...] = (
        ("scores", run.scores, per_step),
        ("tokens", run.tokens, per_step),
        ("parents", run.parents, per_step),
        ("ids", state.ids, per_beam),
        ("cum_log_probs", state.cum_log_probs, per_beam),
    )
    for name, array, expected in shapes:
        if array.shape != expected:
            raise ValueError(f"the decoder's {name} are {array.shape}, and not {expected}")
    limits: tuple[tuple[Floats | Ints, float, float], ...] = (
        (run.scores, -math.inf, math.inf),
        (state.cum_log_probs, -math.inf, math.inf),
        (run.tokens, 0, vocab_size),
        (state.ids, 0, vocab_size),
        (run.parents, 0, beams),
    )
    plausible = np.ones(rows, np.bool_)
    for array, low, high in limits:
        # min and max of an array with a NaN are NaN, and comparisons with NaN are false
        if not (array.max() < high and array.min() >= low):
            is_valid = (array < high) & (array >= low)
            plausible &= is_valid.all(axis=(0, 2) if array.ndim == 3 else 1)
    return plausible

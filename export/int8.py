"""Weights in int8, some rows at a time: a table may be a gigabyte, and is not to be there twice."""

from collections.abc import Iterator

import numpy as np

BLOCK = 8192
"""Rows that are converted at a time."""


def widest_values(weight: np.ndarray) -> np.ndarray:
    """The largest value of each row of a weight [out, in], whatever its sign: [out]."""
    found: np.ndarray = np.maximum(weight.max(axis=1), -weight.min(axis=1))
    return found


def int8_scales(widest: np.ndarray) -> np.ndarray:
    """By which int8 is multiplied, so that its largest value is the widest of all or of each row."""
    found: np.ndarray = np.maximum(widest / 127, 1e-8).astype(np.float32)
    return found


def quantized(weight: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """A weight [out, in] in int8; `scales` are one of all, or of each row and of rows that it lacks."""
    found = np.empty(weight.shape, np.int8)
    for rows in blocks(len(weight)):
        own = scales[rows, None] if scales.ndim else scales
        found[rows] = np.clip(np.rint(weight[rows] / own), -127, 127)
    return found


def blocks(count: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(start, min(count, start + BLOCK)) for start in range(0, count, BLOCK))

"""Weights and inputs in int8, and what a processor makes of their products.

On x86 without VNNI, ONNX Runtime adds the products of unsigned inputs and signed weights in pairs, in 16
bits, and cuts off what does not fit. Weights within 64 always fit (2 * 255 * 64 < 2^15), but are coarser by a
bit. Trained weights rarely need that, as few of them are large. So each weight gets the limit with which its
products of the calibration text's inputs are the better ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

LIMITS = 127, 64
"""The largest value of a weight: in eight bits, and where two products are to fit into 16 bits."""
EVEN = 3.0
"""By which the widest of a weight's columns may exceed their median for one scale to serve all: ONNX Runtime
multiplies each column's scale anew in every product, one by one, a tenth of a lone sentence's step."""
BLOCK = 8192
"""Rows that are converted at a time: a table may be a gigabyte, and is not to be there twice."""
TRIED_ROWS = 2048
"""At most so many of a weight's rows are tried with both limits."""


@dataclass(frozen=True)
class ActivationRange:
    """What calibration saw at the input of a linear layer: smallest and largest value, and some inputs."""

    low: float
    high: float
    inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), compare=False, repr=False)
    """[N, in]; without any, weights have eight bits."""

    def code(self) -> tuple[float, int]:
        """Scale and zero point of unsigned inputs."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        scale = max((high - low) / 255, 1e-8)
        return scale, round(-low / scale)


def widest_values(weight: np.ndarray) -> np.ndarray:
    """The largest value of each row of a weight [out, in], whatever its sign: [out]."""
    found: np.ndarray = np.maximum(weight.max(axis=1), -weight.min(axis=1))
    return found


def int8_scales(widest: np.ndarray, limit: int) -> np.ndarray:
    """By which int8 is multiplied, so that `limit` is the widest of all or of each row."""
    found: np.ndarray = np.maximum(widest / limit, 1e-8).astype(np.float32)
    return found


def quantized(weight: np.ndarray, scales: np.ndarray, limit: int) -> np.ndarray:
    """A weight [out, in] in int8; `scales` are one of all, or of each row and of rows that it lacks."""
    found = np.empty(weight.shape, np.int8)
    for rows in blocks(len(weight)):
        own = scales[rows, None] if scales.ndim else scales
        found[rows] = np.clip(np.rint(weight[rows] / own), -limit, limit)
    return found


def best_limit(weight: np.ndarray, widest: np.ndarray, seen: ActivationRange) -> int:
    """That of `LIMITS` with which the products of the inputs seen are nearest to those in full precision.

    They are what they are on the processor with the narrowest sums. `widest` has one value for all rows, or
    one for each.
    """
    if not seen.inputs.size:
        return LIMITS[0]
    every = slice(None, len(weight), -(-len(weight) // TRIED_ROWS))
    weight, widest = weight[every], widest[every] if widest.ndim else widest
    scale, zero = seen.code()
    inputs = np.clip(np.rint(seen.inputs / scale) + zero, 0, 255).astype(np.uint8)
    expected = seen.inputs @ weight.T

    def error(limit: int) -> float:
        scales = int8_scales(widest, limit)
        codes = quantized(weight, scales, limit)
        sums = saturating_product(inputs, codes) - zero * codes.sum(axis=1, dtype=np.int32)
        return float(np.square(sums * (scale * scales) - expected).sum())

    return min(LIMITS, key=error)


def saturating_product(inputs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """X W^T of uint8 [N, in] and int8 [out, in], two products at a time added in 16 bits: [N, out]."""
    inputs, columns = (
        inputs.astype(np.float32),
        weight.T.astype(np.float32),
    )  # for numpy's fast product
    total = np.zeros((len(inputs), len(weight)))
    for at in range(0, len(columns), 2):
        pair = inputs[:, at : at + 2] @ columns[at : at + 2]
        total += np.clip(pair, -(2.0**15), 2.0**15 - 1)
    return total


def blocks(count: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(start, min(count, start + BLOCK)) for start in range(0, count, BLOCK))

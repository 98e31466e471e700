"""Quantization of weights and inputs to int8, with regard to saturation.

On x86 without VNNI, ONNX Runtime adds the products of unsigned inputs and signed weights in pairs, in 16 bits
with saturation. Weights limited to 64 never saturate (2 * 255 * 64 < 2^15), but lose a bit of precision.
Trained weights rarely need this limit, as few of them are large. So each weight matrix gets the limit with
the smaller error on the inputs of the calibration text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

LIMITS = 127, 64
"""The possible largest values of a quantized weight: the full range, and the one that cannot saturate."""
EVEN = 3.0
"""One scale serves all columns of a weight if the widest exceeds their median by at most this factor. Scales
per column are multiplied one by one in every product: a tenth of the time of a step with one sentence."""
BLOCK = 8192
"""Rows that are converted at a time: a table may take a gigabyte, and should not be in memory twice."""
TRIED_ROWS = 2048
"""Maximum number of a weight's rows with which both limits are tried."""


@dataclass(frozen=True)
class ActivationRange:
    """The input of a linear layer during calibration: smallest and largest value, and some examples."""

    low: float
    high: float
    inputs: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), compare=False, repr=False)
    """Examples [N, in]; without any, weights use the full range."""

    def code(self) -> tuple[float, int]:
        """Return scale and zero point of the unsigned inputs."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        scale = max((high - low) / 255, 1e-8)
        return scale, round(-low / scale)


def widest_values(weight: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each row of a weight [out, in]: [out]."""
    widest: np.ndarray = np.maximum(weight.max(axis=1), -weight.min(axis=1))
    return widest


def int8_scales(widest: np.ndarray, limit: int) -> np.ndarray:
    """Return the scales with which `limit` stands for the `widest` values, of all rows or of each."""
    scales: np.ndarray = np.maximum(widest / limit, 1e-8).astype(np.float32)
    return scales


def quantized(weight: np.ndarray, scales: np.ndarray, limit: int) -> np.ndarray:
    """Quantize a weight [out, in] to int8; `scales` is one scale, or one per row, possibly of padding too."""
    codes = np.empty(weight.shape, np.int8)
    for rows in blocks(len(weight)):
        own_scales = scales[rows, None] if scales.ndim else scales
        codes[rows] = np.clip(np.rint(weight[rows] / own_scales), -limit, limit)
    return codes


def best_limit(weight: np.ndarray, widest: np.ndarray, activation_range: ActivationRange) -> int:
    """Return the one of `LIMITS` with which the products of the examples are nearest to full precision.

    The products are computed as on a processor that saturates. `widest` has one value for all rows, or one
    for each.
    """
    if not activation_range.inputs.size:
        return LIMITS[0]
    tried = slice(None, len(weight), -(-len(weight) // TRIED_ROWS))
    weight, widest = weight[tried], widest[tried] if widest.ndim else widest
    scale, zero = activation_range.code()
    inputs = np.clip(np.rint(activation_range.inputs / scale) + zero, 0, 255).astype(np.uint8)
    expected = activation_range.inputs @ weight.T

    def error(limit: int) -> float:
        scales = int8_scales(widest, limit)
        codes = quantized(weight, scales, limit)
        sums = saturating_product(inputs, codes) - zero * codes.sum(axis=1, dtype=np.int32)
        return float(np.square(sums * (scale * scales) - expected).sum())

    return min(LIMITS, key=error)


def saturating_product(inputs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Compute X W^T of uint8 [N, in] and int8 [out, in], saturating the sums of two products to 16 bits.

    Returns:
        [N, out], float.
    """
    inputs, columns = (
        inputs.astype(np.float32),
        weight.T.astype(np.float32),
    )  # for numpy's fast product
    total = np.zeros((len(inputs), len(weight)))
    for index in range(0, len(columns), 2):
        pair = inputs[:, index : index + 2] @ columns[index : index + 2]
        total += np.clip(pair, -(2.0**15), 2.0**15 - 1)
    return total


def blocks(count: int) -> Iterator[slice]:
    """Return slices that cover `count` rows, `BLOCK` rows at a time."""
    return (slice(start, min(count, start + BLOCK)) for start in range(0, count, BLOCK))

"""Products in int8, compared with integer arithmetic, on any processor."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx.numpy_helper import to_array

from export.graph import GraphBuilder, tensor, to_model
from export.int8 import LIMITS, ActivationRange, best_limit, saturating_product, widest_values

Array = NDArray[Any]
WIDTH, OUT = 34, 20
EXTREME = ActivationRange(-127.5, 127.5, np.full((4, WIDTH), 127.5))
"""A range whose examples all have the largest value."""
MIXED = ActivationRange(-127.5, 127.5, np.random.default_rng(1).normal(0, 20, (64, WIDTH)))


def product(weight: Array, seen: ActivationRange, codes: Array) -> tuple[Array, Array, Array]:
    """Run a product for inputs with the given codes; return the result, int8 weights and scale."""
    b = GraphBuilder("int8", {}, {"layer": seen})
    scale, zero = seen.code()
    bias = b.initializer("bias", np.zeros(OUT, np.float32))
    result = b.matmul("x", weight, "w", "layer", bias)
    outputs = {result: tensor("y", "f32", ["N", OUT])}
    graph = to_model(b.finish("test", [tensor("x", "f32", ["N", WIDTH])], outputs))
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = (scale * (codes.astype(np.float32) - zero)).astype(np.float32)
    stored = to_array(b.initializers["w.T.int8"]).T
    return session.run(None, {"x": x})[0], stored, to_array(b.initializers["w.T.scale"]) * scale


def codes_and_weight(seed: int = 0) -> tuple[Array, Array]:
    """Return uint8 inputs and a weight, both uniform, whose products would saturate with eight bits."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (9, WIDTH), dtype=np.uint8)
    codes[0] = 255
    weight = rng.uniform(-1, 1, (OUT, WIDTH)).astype(np.float32)
    weight[0] = 1
    return codes, weight


def test_products_that_would_saturate_with_eight_bits_are_exact() -> None:
    codes, weight = codes_and_weight()
    found, stored, scale = product(weight, EXTREME, codes)
    zero = EXTREME.code()[1]
    exact = (codes.astype(np.int64) - zero) @ stored.T.astype(np.int64)
    np.testing.assert_allclose(found, exact * scale, rtol=1e-6)
    assert np.abs(stored).max() == 64


def test_an_eight_bit_product_is_exact_or_saturates_as_modelled() -> None:
    codes, weight = codes_and_weight()
    found, stored, scale = product(weight, ActivationRange(-127.5, 127.5), codes)
    assert np.abs(stored).max() == 127
    zero_part = EXTREME.code()[1] * stored.sum(axis=1, dtype=np.int64)
    exact = codes.astype(np.int64) @ stored.T.astype(np.int64)
    cut = saturating_product(codes, stored)
    assert (cut < exact).any(), "the inputs are too small to saturate"
    assert any(
        np.allclose(found, (one - zero_part) * scale, rtol=1e-6, atol=1e-6) for one in (exact, cut)
    )


@pytest.mark.parametrize("limit", LIMITS)
def test_saturating_products_equal_values_computed_by_hand(limit: int) -> None:
    inputs = np.array([[255, 255, 255], [255, 0, 255], [128, 128, 0]], np.uint8)
    weight = np.full((2, 3), limit, np.int8)
    weight[1] = -limit
    pair = min(2 * 255 * limit, 32767), -min(2 * 255 * limit, 32768)
    expected = [
        [pair[0] + 255 * limit, pair[1] - 255 * limit],
        [2 * 255 * limit, -2 * 255 * limit],
        [256 * limit, -256 * limit],
    ]
    assert saturating_product(inputs, weight).tolist() == expected
    assert (pair == (2 * 255 * limit, -2 * 255 * limit)) == (limit == 64)


@pytest.mark.parametrize(
    ("seen", "power", "limit"),
    [
        (EXTREME, 1, 64),
        (MIXED, 1, 64),
        (MIXED, 9, 127),  # few weights are large, as after training
        (ActivationRange(-127.5, 127.5, -EXTREME.inputs), 1, 127),  # the examples' codes are zeros
        (ActivationRange(-127.5, 127.5), 1, 127),
    ],
    ids=["extreme", "uniform", "trained", "least", "unseen"],
)
def test_a_weight_has_eight_bits_unless_its_products_saturate_too_much(
    seen: ActivationRange, power: int, limit: int
) -> None:
    weight = codes_and_weight()[1][1:] ** power
    assert best_limit(weight, widest_values(weight), seen) == limit
    assert best_limit(weight, widest_values(weight).max(), seen) == limit


def test_the_limit_is_found_from_some_rows_of_a_large_weight() -> None:
    weight = np.tile(codes_and_weight()[1], (250, 1))
    assert best_limit(weight, widest_values(weight), EXTREME) == 64
    padded = np.append(widest_values(weight), 0)  # an absent row
    assert best_limit(weight, padded, EXTREME) == 64

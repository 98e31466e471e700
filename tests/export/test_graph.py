"""The builder's products, compared with numpy's, within the rounding error of eight bits."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from onnx.numpy_helper import to_array

from export.graph import GraphBuilder, Precision, tensor, to_model
from export.int8 import LIMITS, ActivationRange

Array = NDArray[np.float32]
WIDTH, RANGE = 24, ActivationRange(-3.0, 2.0)
SEEN = replace(RANGE, inputs=np.random.default_rng(2).uniform(-3, 2, (64, WIDTH)))


@pytest.fixture
def weights() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    made: dict[str, Array] = {}
    for layer in ("first", "second"):
        made[f"{layer}.weight"] = rng.standard_normal((10, WIDTH)).astype(np.float32)
        made[f"{layer}.bias"] = rng.standard_normal(10).astype(np.float32)
    return made


@pytest.fixture
def x() -> Array:
    rng = np.random.default_rng(1)
    return rng.uniform(RANGE.low, RANGE.high, (2, 3, WIDTH)).astype(np.float32)


def builder(precision: Precision, weights: dict[str, Array]) -> GraphBuilder:
    layers = {name.rpartition(".")[0] for name in weights}
    return GraphBuilder(precision, weights, dict.fromkeys(layers, SEEN))


def run(b: GraphBuilder, result: str, x: Array, width: int = 10) -> Array:
    """Run the graph on x."""
    inputs = [tensor("x", b.float_kind, ["B", "T", WIDTH])]
    outputs = {result: tensor("y", b.float_kind, ["B", "T", width])}
    model = to_model(b.finish("test", inputs, outputs))
    assert "Identity" not in {node.op_type for node in model.graph.node}
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: Array = session.run(["y"], {"x": x.astype(b.float_dtype)})[0]
    return found


def rounding(x: Array, weight: Array) -> Array:
    """Return the largest effect on x W^T of rounding every input and weight by half a step: [..., out]."""
    of_input = (RANGE.high - RANGE.low) / 255 / 2 + 1e-6
    of_weight = np.abs(weight).max(axis=1) / min(LIMITS) / 2
    inputs = np.abs(x).sum(-1, keepdims=True) + of_input * WIDTH
    bound: Array = of_input * np.abs(weight).sum(axis=1) + of_weight * inputs
    return bound


@pytest.mark.parametrize("relu", [False, True])
def test_an_int8_product_is_exact_within_its_rounding_error(
    weights: dict[str, Array], x: Array, relu: bool
) -> None:
    b = builder("int8", weights)
    found = run(b, b.linear("x", "first", relu_input=relu), x)
    seen, weight = np.maximum(x, 0) if relu else x, weights["first.weight"]
    error = np.abs(found - (seen @ weight.T + weights["first.bias"]))
    assert (error <= rounding(seen, weight)).all()
    assert error.max() > 0, "it is rounded at all"


def test_int8_results_of_a_sentence_do_not_depend_on_the_rest_of_the_batch(
    weights: dict[str, Array], x: Array
) -> None:
    def alone(part: Array) -> Array:
        b = builder("int8", weights)
        return run(b, b.linear("x", "first"), part)

    outlier = x.copy()
    outlier[1] *= 1000
    assert np.array_equal(alone(outlier)[0], alone(x[:1])[0])


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp16", 2e-2)])
def test_floating_point_products_equal_those_of_numpy(
    weights: dict[str, Array], x: Array, precision: Precision, tolerance: float
) -> None:
    b = builder(precision, weights)
    found = run(b, b.linear("x", "first", relu_input=True), x)
    expected = np.maximum(x, 0) @ weights["first.weight"].T + weights["first.bias"]
    np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_modules_merged_into_one_product_give_their_concatenated_results(
    weights: dict[str, Array], x: Array, precision: Precision
) -> None:
    b = builder(precision, weights)
    together = run(b, b.linears("x", "first", "second"), x, width=20)
    stacked, bias = (
        np.concatenate([weights[f"{layer}.{kind}"] for layer in ("first", "second")])
        for kind in ("weight", "bias")
    )
    bound = rounding(x, stacked) if precision == "int8" else 1e-5
    assert (np.abs(together - (x @ stacked.T + bias)) <= bound).all()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_each_of_several_modules_gives_its_own_product(
    weights: dict[str, Array], x: Array, precision: Precision
) -> None:
    layers = ("first", "second")
    for index, layer in enumerate(layers):
        b = builder(precision, weights)
        weight, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        found = run(b, b.each_linear("x", *layers)[index], x)
        bound = rounding(x, weight) if precision == "int8" else 1e-5
        assert (np.abs(found - (x @ weight.T + bias)) <= bound).all()


@pytest.mark.parametrize(("widest", "scales"), [(2.9, 1), (3.1, 10)])
def test_columns_share_a_scale_unless_one_is_far_wider(widest: float, scales: int) -> None:
    weight = np.ones((10, WIDTH), np.float32)
    weight[4] = -widest
    b = builder("int8", {})
    columns, scale = (to_array(b.initializers[name]) for name in b.int8_columns(weight, "w", RANGE))
    assert scale.size == scales
    np.testing.assert_allclose(columns.T * scale.reshape(-1, 1), weight, atol=widest / 127 / 2)


def test_a_table_that_is_looked_up_and_multiplied_is_stored_once(
    weights: dict[str, Array], x: Array
) -> None:
    b, weight = builder("int8", weights), weights["first.weight"]
    stored = b.int8_rows(weight, "first.weight", "first")
    rows, scales = (to_array(b.initializers[name]) for name in stored)
    step = np.abs(weight).max(axis=1) / min(LIMITS)
    assert (np.abs(rows * scales[:, None] - weight).max(axis=1) <= 0.501 * step).all()
    product = b.linear("x", "first")
    in_int8 = [name for name, one in b.initializers.items() if one.data_type == TensorProto.INT8]
    assert in_int8 == [stored[0]]
    error = np.abs(run(b, product, x) - (x @ weight.T + weights["first.bias"]))
    assert (error <= rounding(x, weight)).all()


def test_splitting_and_merging_heads_restores_the_input(x: Array) -> None:
    b = builder("fp32", {})
    [heads] = b.split_heads("x", d_head=6)
    np.testing.assert_array_equal(run(b, b.merge_heads(heads), x, width=WIDTH), x)

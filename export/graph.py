"""A small builder for ONNX graphs.

It handles the precisions (fp32, fp16, int8) and knows nothing about the network's architecture, unlike
`encoder.py` and `decoder.py`. Initializers have the names of the network's parameters: `NAME` is unchanged,
`NAME.T` transposed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from export.int8 import (
    EVEN,
    ActivationRange,
    best_limit,
    blocks,
    int8_scales,
    quantized,
    widest_values,
)
from export.weights import MIN_MAPPED, WeightsFile

Precision = Literal["fp32", "fp16", "int8"]

OPSET = 23
"""The first opset with the operator Attention."""
IR_VERSION = 11
ELEMENT_TYPES: dict[str, int] = {
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "i64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
Weights = Mapping[str, np.ndarray]


@dataclass
class GraphBuilder:
    """Collects the nodes and initializers of one graph, or of the body of a Loop."""

    precision: Precision
    weights: Weights
    """The network's weights, by parameter name."""
    ranges: Mapping[str, ActivationRange] = field(default_factory=dict)
    """For int8: the calibrated input ranges of linear layers, by module name."""
    prefix: str = ""
    """Start of all names in a Loop's body, which distinguishes them from those of the graph around it."""
    store: WeightsFile | None = None
    """The file that large tensors are written to at once, so that no graph holds them all in memory."""
    epsilon: float = 1e-5
    """The epsilon of LayerNorm; set it from the network's configuration."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    _counter: int = 0

    @property
    def float_kind(self) -> Literal["f16", "f32"]:
        """Type of the activations, as named by `tensor`."""
        return "f16" if self.precision == "fp16" else "f32"

    @property
    def stored_kind(self) -> Literal["f16", "f32"]:
        """Type of embeddings and of the source's keys and values, as named by `tensor`: fp16 unless fp32."""
        return "f32" if self.precision == "fp32" else "f16"

    @property
    def float_type(self) -> int:
        """Element type of the activations."""
        return ELEMENT_TYPES[self.float_kind]

    @property
    def float_dtype(self) -> type[np.floating[Any]]:
        """The same as a numpy type."""
        return np.float16 if self.precision == "fp16" else np.float32

    def op(
        self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> Any:
        """Append an operator; return the name of its output, or a list of names if it has several."""
        self._counter += 1
        names = [
            f"{self.prefix}{kind}_{self._counter}" + (f".{i}" if outputs > 1 else "")
            for i in range(outputs)
        ]
        node = helper.make_node(kind, list(inputs), names, domain=domain, **attributes)
        node.name = names[0]
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def named(self, name: str, kind: str, *inputs: str, **attributes: Any) -> None:
        """Append an operator whose result another graph refers to by `name`."""
        self.op(kind, *inputs, **attributes)
        self.nodes[-1].output[0] = name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Add a small tensor, unless the graph has an equal one already; return its name."""
        array = np.asarray(value, dtype=dtype)
        shape, values = "x".join(map(str, array.shape)), "_".join(map(str, array.ravel()))
        name = f"{self.prefix}const_{array.dtype}_{shape}_{values}"
        return self.initializer(name, array)

    def initializer(self, name: str, array: np.ndarray) -> str:
        """Store a tensor in the graph as `name`, unless it is there already; return its name."""
        if name not in self.initializers:
            self.initializers[name] = self._stored(name, array)
        return name

    def _stored(self, name: str, array: np.ndarray) -> TensorProto:
        """Make a tensor that contains its values, or refers to them in `store` if it is large."""
        if self.store is None or array.nbytes < MIN_MAPPED:
            return numpy_helper.from_array(array.copy(order="C"), name)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        stored = TensorProto(name=name, dims=array.shape, data_type=kind)
        self.store.add(stored, np.ascontiguousarray(array).data)
        return stored

    def parameter(self, name: str) -> str:
        """Store one of the network's vectors in the precision of the activations; return its name."""
        return self.initializer(name, self.weights[name].astype(self.float_dtype))

    def to_float(self, x: str) -> str:
        """Cast to the precision of the activations."""
        return str(self.op("Cast", x, to=self.float_type))

    def to_stored(self, x: str) -> str:
        """Cast activations to `stored_kind`."""
        if self.stored_kind == self.float_kind:
            return x
        return str(self.op("Cast", x, to=ELEMENT_TYPES[self.stored_kind]))

    def from_stored(self, x: str) -> str:
        """Cast a value of `stored_kind` to the precision of the activations."""
        return x if self.stored_kind == self.float_kind else self.to_float(x)

    def activation(self, x: str, kind: str) -> str:
        """Apply SiLU or a variant of GELU. ReLU is `relu_input` of `linear`, which is free in int8."""
        if kind in ("gelu", "gelu_tanh"):
            approximate = "tanh" if kind == "gelu_tanh" else "none"
            return str(self.op("Gelu", x, approximate=approximate))
        scaled = x
        if kind == "gelu_sigmoid":
            scaled = self.op("Mul", x, self.constant(1.702, self.float_dtype))
        return str(self.op("Mul", x, self.op("Sigmoid", scaled)))

    def linear(self, x: str, layer: str, relu_input: bool = False) -> str:
        """Apply the linear module `layer`, [..., in] -> [..., out], to x, or to ReLU(x) with `relu_input`."""
        bias = self.initializer(f"{layer}.bias", self._bias(layer).astype(self.float_dtype))
        weight = self.weights[f"{layer}.weight"]
        return self.matmul(x, weight, f"{layer}.weight", layer, bias, relu_input)

    def _bias(self, layer: str) -> np.ndarray:
        """Return the bias of a module, or zeros if it has none."""
        none = np.zeros(len(self.weights[f"{layer}.weight"]), np.float32)
        return self.weights.get(f"{layer}.bias", none)

    def linears(self, x: str, *layers: str) -> str:
        """Apply several modules to one input as one product: [..., in] -> [..., sum of the outs]."""
        weight = np.concatenate([self.weights[f"{layer}.weight"] for layer in layers])
        bias = np.concatenate([self._bias(layer) for layer in layers])
        name = "+".join(layers)
        stored = self.initializer(f"{name}.bias", bias.astype(self.float_dtype))
        return self.matmul(x, weight, f"{name}.weight", layers[0], stored)

    def each_linear(self, x: str, *layers: str) -> list[str]:
        """Apply several modules of equal width to one input: [..., in] -> [..., out] each.

        This is one product, which is split. In int8 each module has its own product, because splitting costs
        more than joining saves.
        """
        if self.precision == "int8":
            return [self.linear(x, layer) for layer in layers]
        product, count = self.linears(x, *layers), len(layers)
        return list(self.op("Split", product, axis=-1, num_outputs=count, outputs=count))

    def matmul(
        self,
        x: str,
        weight: np.ndarray,
        name: str,
        layer: str,
        bias: str,
        relu_input: bool = False,
        absent: Sequence[int] = (),
    ) -> str:
        """Compute X W^T + b, in int8 with static input scales, so that sentences do not affect each other.

        The results for rows of the weight that are `absent` are unspecified. Such rows may lie beyond the
        weight's last row, in which case it is padded.
        """
        if self.precision == "int8":
            activation_range = self.ranges[layer]
            if relu_input:  # a zero point of 0 clips as ReLU does
                activation_range = replace(activation_range, low=0.0)
            columns = self.int8_columns(weight, name, activation_range, absent)
            return self._int8_matmul(x, columns, activation_range, bias)
        if relu_input:
            x = self.op("Relu", x)
        padding = max(0, max(absent, default=0) + 1 - len(weight))
        padded = np.pad(weight.astype(self.float_dtype), ((0, padding), (0, 0)))
        transposed = self.initializer(f"{name}.T", padded.T)
        return str(self.op("Add", self.op("MatMul", x, transposed), bias))

    def _int8_matmul(
        self, x: str, columns: tuple[str, str], activation_range: ActivationRange, bias: str
    ) -> str:
        """Compute X W^T + b with unsigned inputs and signed weights; `columns` are weight and scales."""
        scale, zero_point = activation_range.code()
        weight, scales = columns
        x_scale = self.constant(scale, np.float32)
        x_zero = self.constant(zero_point, np.uint8)
        return str(
            self.op(
                "MatMulIntegerToFloat",
                self.op("QuantizeLinear", x, x_scale, x_zero),
                weight,
                x_scale,
                scales,
                x_zero,
                "",
                bias,
                domain="com.microsoft",
            )
        )

    def int8_columns(
        self,
        weight: np.ndarray,
        name: str,
        activation_range: ActivationRange,
        absent: Sequence[int] = (),
    ) -> tuple[str, str]:
        """Store a weight [out, in], transposed, in int8, and the scales of its columns; return both names.

        If the columns' ranges are similar (see `EVEN`), one scale serves all columns, otherwise each has its
        own, [out]. A weight stored by `int8_rows` is not stored again, but transposed by the graph. Rows
        that are `absent` are zeros.
        """
        names = f"{name}.T.int8", f"{name}.T.scale"
        if f"{name}.int8" in self.initializers:
            return str(self.op("Transpose", f"{name}.int8", perm=[1, 0])), names[1]
        if names[0] not in self.initializers:
            padding = max(0, max(absent, default=0) + 1 - len(weight))
            widest = np.pad(widest_values(weight), (0, padding))
            widest[list(absent)] = 0  # without them, one scale serves all the others
            if widest.max() <= EVEN * np.median(widest):
                widest = widest.max()
            limit = best_limit(weight, widest, activation_range)
            scales = int8_scales(widest, limit)
            columns = np.pad(quantized(weight, scales, limit), ((0, padding), (0, 0)))
            columns[list(absent)] = 0
            self.initializer(names[0], columns.T)
            self.initializer(names[1], scales)
        return names

    def int8_rows(self, weight: np.ndarray, name: str, layer: str) -> tuple[str, str]:
        """Store the weight [out, in] of `layer` in int8, so that its rows can be looked up too.

        Returns:
            The names of the weight and of its scales, [out].
        """
        widest = widest_values(weight)
        limit = best_limit(weight, widest, self.ranges[layer])
        scales = int8_scales(widest, limit)
        rows = quantized(weight, scales, limit)
        return self.initializer(f"{name}.int8", rows), self.initializer(f"{name}.T.scale", scales)

    def embed(self, ids: str, table: np.ndarray, name: str, scale: float) -> str:
        """Look up rows of `table` [V, d], multiplied by `scale`."""
        if name not in self.initializers:
            stored = np.empty(table.shape, np.float16 if self.stored_kind == "f16" else np.float32)
            for rows in blocks(len(table)):
                stored[rows] = table[rows] * scale
            self.initializer(name, stored)
        return self.from_stored(str(self.op("Gather", name, ids)))

    def layer_norm(self, x: str, layer: str) -> str:
        """Apply the LayerNorm of the module `layer` over the last axis."""
        scale, bias = self.parameter(f"{layer}.weight"), self.parameter(f"{layer}.bias")
        return str(self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.epsilon))

    def split_heads(self, x: str, d_head: int, parts: int = 1) -> list[str]:
        """Split [B, T, parts*H*D] -> `parts` times [B, H, T, D]."""
        split = self.op("Reshape", x, self.constant([0, 0, -1, d_head]))
        heads = self.op("Transpose", split, perm=[0, 2, 1, 3])
        if parts == 1:
            return [heads]
        return list(self.op("Split", heads, axis=1, num_outputs=parts, outputs=parts))

    def merge_heads(self, x: str) -> str:
        """Merge [B, H, T, D] -> [B, T, H*D]."""
        return str(
            self.op(
                "Reshape", self.op("Transpose", x, perm=[0, 2, 1, 3]), self.constant([0, 0, -1])
            )
        )

    def finish(
        self,
        name: str,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Mapping[str, onnx.ValueInfoProto],
    ) -> onnx.GraphProto:
        """Return the graph; `outputs` maps names of the nodes' results to the graph's outputs.

        The results are renamed in the nodes: an Identity would copy whole caches in every step.
        """
        renamed = {result: info.name for result, info in outputs.items()}
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [renamed.get(result, result) for result in names]
        return helper.make_graph(
            self.nodes, name, list(inputs), list(outputs.values()), list(self.initializers.values())
        )


def tensor(name: str, kind: str, shape: Sequence[str | int] | None) -> onnx.ValueInfoProto:
    """Describe an input or output; `kind` is f32, f16, i64 or bool, and `shape` None if it is unknown."""
    return helper.make_tensor_value_info(name, ELEMENT_TYPES[kind], shape)


def to_model(graph: onnx.GraphProto) -> onnx.ModelProto:
    """Wrap a finished graph as a model; the same graph always gives the same bytes."""
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="attendant")
    model.ir_version = IR_VERSION
    return model

"""The encoder's graph: from source ids to the cross-attention keys and values of every decoder layer.

in:  source_ids i64 [B, S], source_bias f32 [B, S] (0 at tokens, MASKED at padding)
out: cross_keys.N, cross_values.N [B, H, S, D] for every decoder layer N, fp16 unless the graph is fp32
"""

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
import onnx

from export.graph import GraphBuilder, tensor, to_model
from model.config import ModelConfig
from model.transformer import position_table


def build_encoder(builder: GraphBuilder, config: ModelConfig) -> onnx.ModelProto:
    """Build the graph in the builder's precision."""
    b = builder
    b.epsilon = config.layer_norm_epsilon
    table = "embedding.weight" if config.embeddings == "shared" else "source_embedding.weight"
    scale = config.embedding_scale
    positions = positions_of(b, config, "source")
    length = b.op("Shape", "source_ids", start=1, end=2)
    x = b.op(
        "Add",
        b.embed("source_ids", b.weights[table], f"{table}.scaled", scale),
        b.op(
            "Slice",
            b.initializer("positions", positions.astype(b.float_dtype)),
            b.constant([0]),
            length,
            b.constant([0]),
        ),
    )
    mask = b.op("Unsqueeze", b.to_float("source_bias"), b.constant([1, 2]))  # [B, 1, 1, S]
    # one row for each query: the CPU kernel of Attention does not broadcast a mask over queries
    batch = b.op("Shape", "source_ids", start=0, end=1)
    mask = b.op("Expand", mask, b.op("Concat", batch, b.constant([1]), length, length, axis=0))
    for index in range(config.num_encoder_layers):
        layer = f"encoder.{index}"
        module = f"{layer}.self_attention"
        attention = functools.partial(
            self_attention, b, source=x, mask=mask, module=module, config=config
        )
        x = residual(b, x, f"{layer}.norm_1", config, attention)
        feeding = functools.partial(feed_forward, b, layer=layer, config=config)
        x = residual(b, x, f"{layer}.norm_2", config, feeding)
    x = final_norm(b, x, "encoder_norm", config)
    modules = [
        (f"cross_{name}.{index}", f"decoder.{index}.cross_attention.{part}")
        for index in range(config.num_decoder_layers)
        for part, name in (("w_k", "keys"), ("w_v", "values"))
    ]
    projected = b.linears(x, *(module for _, module in modules))
    heads = b.split_heads(b.to_stored(projected), config.d_head, parts=len(modules))
    shape: list[str | int] = ["B", config.num_heads, "S", config.d_head]
    outputs = {
        result: tensor(name, b.stored_kind, shape)
        for result, (name, _) in zip(heads, modules, strict=True)
    }
    inputs = [tensor("source_ids", "i64", ["B", "S"]), tensor("source_bias", "f32", ["B", "S"])]
    return to_model(b.finish("encoder", inputs, outputs))


def positions_of(
    b: GraphBuilder, config: ModelConfig, side: Literal["source", "target"]
) -> np.ndarray:
    """Return the position encodings of the source or the target: [max_positions, d_model]."""
    if config.positions == "stored":
        return b.weights[f"{side}_positions.table"]
    table: np.ndarray = position_table(config).numpy()
    return table


def residual(
    b: GraphBuilder, x: str, norm: str, config: ModelConfig, sublayer: Callable[[str], str]
) -> str:
    """Apply a sub-layer with its residual connection and the norm `norm`, before it or after the sum."""
    if config.norm == "pre":
        return str(b.op("Add", x, sublayer(b.layer_norm(x, norm))))
    return b.layer_norm(b.op("Add", x, sublayer(x)), norm)


def final_norm(b: GraphBuilder, x: str, norm: str, config: ModelConfig) -> str:
    """Apply the norm at the end of a stack, if the network has one."""
    return b.layer_norm(x, norm) if config.has_final_norm else x


def feed_forward(b: GraphBuilder, x: str, layer: str, config: ModelConfig) -> str:
    """Compute W2 f(W1 x), with f the configured activation."""
    widened = b.linear(x, f"{layer}.feed_forward.w_1")
    relu = config.activation == "relu"
    if not relu:
        widened = b.activation(widened, config.activation)
    return b.linear(widened, f"{layer}.feed_forward.w_2", relu_input=relu)


def queries_keys_values(
    b: GraphBuilder, x: str, source: str, module: str, config: ModelConfig
) -> list[str]:
    """Compute queries, keys and values, [..., d] each.

    `x` is the sub-layer's input and `source` the layer's input before the norm, from which keys and values
    are computed in pre-norm networks without `normed_keys`.
    """
    queries, *others = (f"{module}.w_{name}" for name in "qkv")
    if config.norm == "pre" and not config.normed_keys:
        return [b.linear(x, queries), *b.each_linear(source, *others)]
    return b.each_linear(x, queries, *others)


def self_attention(
    b: GraphBuilder, x: str, source: str, mask: str, module: str, config: ModelConfig
) -> str:
    """Apply self-attention to x [B, T, d]; `mask` is added to the scores, [B, 1, T, T] or [T, T]."""
    context = b.op(
        "Attention",
        *queries_keys_values(b, x, source, module, config),
        mask,
        q_num_heads=config.num_heads,
        kv_num_heads=config.num_heads,
        scale=float(np.float32(config.d_head**-0.5)),
    )
    return b.linear(context, f"{module}.w_o")

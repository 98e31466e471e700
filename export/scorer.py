"""The scorer's graph: the probability of a given translation, and its alignment with the source.

The decoder's graph searches for a translation step by step. The scorer's graph gets the translation as input,
as in training, so it computes all tokens at once.

Shapes: B pairs, T target tokens without BOS and EOS, S source tokens, H heads, D head dim, N targets: either
B, or 1 if all pairs have the same target. What does not depend on the source is then computed only once.

in:  target_ids i64 [N, T + 2]   BOS, the translation, EOS, then PAD
     source_bias f32 [B, S]      0 at tokens, MASKED at padding
     cross_keys.N, cross_values.N [B, H, S, D]   from the encoder, fp16 unless the graph is fp32
out: log_probs f32 [B]           of the translation and its EOS, in nats
     alignment f32 [B, T, S]     the mean of the chosen heads; each row sums to 1
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import onnx

from export import recurrence
from export.alignment import AlignmentHead
from export.encoder import feed_forward, final_norm, positions_of, residual, self_attention
from export.graph import GraphBuilder, tensor, to_model
from model.config import ModelConfig
from model.tokenizer import PAD_ID
from service.engine.types import MASKED


def build_scorer(
    builder: GraphBuilder, config: ModelConfig, heads: Sequence[AlignmentHead]
) -> onnx.ModelProto:
    """Build the graph in the builder's precision; the mask and the outputs are always fp32."""
    b, layers = builder, range(config.num_decoder_layers)
    b.epsilon = config.layer_norm_epsilon
    decoder = _Decoder(b, config, heads)
    log_probs = _log_probs(b, config, decoder.states())
    alignment = b.op("Mean", *decoder.picked)
    names = [f"cross_{kind}.{index}" for kind in ("keys", "values") for index in layers]
    inputs = [
        tensor("target_ids", "i64", ["N", "U"]),
        tensor("source_bias", "f32", ["B", "S"]),
        *(
            tensor(name, b.stored_kind, ["B", config.num_heads, "S", config.d_head])
            for name in names
        ),
    ]
    outputs = {
        log_probs: tensor("log_probs", "f32", ["B"]),
        alignment: tensor("alignment", "f32", ["B", "T", "S"]),
    }
    return to_model(b.finish("scorer", inputs, outputs))


class _Decoder:
    """The decoder over a whole translation; `picked` are the chosen heads' attention weights [B, T, S]."""

    def __init__(
        self, builder: GraphBuilder, config: ModelConfig, heads: Sequence[AlignmentHead]
    ) -> None:
        self.b, self.config, self.heads = builder, config, heads
        self.scale = float(np.float32(config.d_head**-0.5))
        self.picked: list[str] = []
        b = builder
        self.read = _slice(b, "target_ids", 0, -1)  # [N, T + 1]: BOS and the translation
        self.length = b.op("Shape", self.read, start=1, end=2)
        square = b.op("Concat", self.length, self.length, axis=0)
        masked = b.op("Expand", b.constant([MASKED], np.float32), square)
        self.future = b.op("Trilu", masked, b.constant(1), upper=1)  # [T + 1, T + 1]
        self.cross_bias = b.op("Unsqueeze", "source_bias", b.constant([1, 2]))  # [B, 1, 1, S]

    def states(self) -> str:
        """Return the decoder's states, from which each token and EOS are predicted: [B, T + 1, d]."""
        b = self.b
        x = self._embedded()
        for index in range(self.config.num_decoder_layers):
            layer = f"decoder.{index}"
            history = partial(self._history, source=x, layer=layer)
            x = residual(b, x, f"{layer}.norm_1", self.config, history)
            crossing = partial(self._cross_attention, index=index)
            x = residual(b, x, f"{layer}.norm_2", self.config, crossing)
            feeding = partial(feed_forward, b, layer=layer, config=self.config)
            x = residual(b, x, f"{layer}.norm_3", self.config, feeding)
        return final_norm(b, x, "decoder_norm", self.config)

    def _history(self, x: str, source: str, layer: str) -> str:
        """Apply self-attention, or the SSRU if the network has it instead."""
        if self.config.decoder_cell == "ssru":
            return recurrence.every_step(self.b, x, f"{layer}.recurrence", self.config)
        module = f"{layer}.self_attention"
        return self_attention(self.b, x, source, self.future, module, self.config)

    def _embedded(self) -> str:
        """Return the sum of embeddings and position encodings: [N, T + 1, d]."""
        b, sizes = self.b, self.config
        positions = positions_of(b, sizes, "target").astype(b.float_dtype)
        place = b.op("Range", b.constant(0), b.op("Squeeze", self.length), b.constant(1))
        table, root = b.weights["embedding.weight"], sizes.embedding_scale
        if b.precision == "int8":  # shares the projection's table: half of the weights
            stored, scales = b.int8_rows(table, "embedding.weight", "projection")
            rows = b.to_float(b.op("Gather", stored, self.read))
            scale = b.op("Mul", b.op("Gather", scales, self.read), b.constant(root, np.float32))
            x = b.op("Mul", rows, b.op("Unsqueeze", scale, b.constant([2])))
        else:
            x = b.embed(self.read, table, "embedding.weight.scaled", root)
        return str(b.op("Add", x, b.op("Gather", b.initializer("positions", positions), place)))

    def _cross_attention(self, x: str, index: int) -> str:
        """Apply cross-attention, spelled out to expose its weights [B, H, T + 1, S], and add to `picked`."""
        b, module = self.b, f"decoder.{index}.cross_attention"
        [q] = b.split_heads(b.linear(x, f"{module}.w_q"), self.config.d_head)
        keys = b.op("Transpose", b.from_stored(f"cross_keys.{index}"), perm=[0, 1, 3, 2])
        scores = b.op("Mul", b.op("MatMul", q, keys), b.constant(self.scale, np.float32))
        weights = str(b.op("Softmax", b.op("Add", scores, self.cross_bias), axis=-1))
        self.picked += [_rows(b, weights, head) for head in self.heads if head.layer == index]
        values = b.from_stored(f"cross_values.{index}")
        context = b.merge_heads(b.op("MatMul", weights, values))
        return b.linear(context, f"{module}.w_o")


def _rows(b: GraphBuilder, weights: str, head: AlignmentHead) -> str:
    """Return one head's weights at the rows for the T target tokens, according to its shift: [B, T, S]."""
    weights_of_head = str(b.op("Gather", weights, b.constant(head.head), axis=1))  # [B, T + 1, S]
    if head.shift == 0:
        return _slice(b, weights_of_head, 0, -1)
    return _slice(b, weights_of_head, 1, np.iinfo(np.int64).max)


def _log_probs(b: GraphBuilder, config: ModelConfig, states: str) -> str:
    """Turn states [B, T + 1, d] into the targets' log-probabilities, including EOS: [B]."""
    name = "projection.weight" if config.embeddings == "separate" else "embedding.weight"
    added = b.weights["projection_bias"] if config.projection_bias else np.zeros(config.vocab_size)
    bias = b.initializer("projection.bias", added.astype(b.float_dtype))
    logits = b.matmul(states, b.weights[name], name, "projection", bias)
    targets = _slice(b, "target_ids", 1, np.iinfo(np.int64).max)  # [N, T + 1]
    pairs = b.op("Concat", b.op("Shape", states, start=0, end=1), b.constant([1, 1]), axis=0)
    target_indices = b.op("Expand", b.op("Unsqueeze", targets, b.constant([2])), pairs)
    token_log_probs = b.op(
        "GatherElements", b.op("LogSoftmax", logits, axis=-1), target_indices, axis=2
    )
    token_log_probs = b.op("Squeeze", token_log_probs, b.constant([2]))
    padding = b.op("Equal", targets, b.constant(PAD_ID))
    counted = b.op("Where", padding, b.constant(0, np.float32), token_log_probs)
    return str(b.op("ReduceSum", counted, b.constant([1]), keepdims=0))


def _slice(b: GraphBuilder, x: str, start: int, stop: int) -> str:
    """Return x[:, start:stop]."""
    return str(b.op("Slice", x, b.constant([start]), b.constant([stop]), b.constant([1])))

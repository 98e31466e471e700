"""The aligner's graph: which source token a translation's every token looked at.

Attention is no alignment as such; a few heads come near to one. They are chosen by how often they lead from a
token to the same token on the other side (names, numbers, marks: what both sides have once must belong
together). A head may align a token where it is predicted, or one step later, where it is the decoder's input
(Chen et al., 2020, "Accurate Word Alignment Induction from Neural Machine Translation").

Shapes: B pairs, T target tokens without BOS and EOS, S source tokens, H heads, D head dim.

in:  target_ids i64 [B, T + 1]   BOS and the translation
     source_bias f32 [B, S]      0 at tokens, MASKED at padding
     cross_keys.N, cross_values.N f32 [B, H, S, D]   of the encoder, where they are needed
out: alignment f32 [B, T, S]     each row sums to 1
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnx
import torch

from export.encoder import feed_forward
from export.graph import MASKED, GraphBuilder, tensor, to_model
from model.config import ModelConfig
from model.data import Pair
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer, sinusoids

MOST_HEADS = 4


class AlignmentHead(NamedTuple):
    """One head of the decoder's cross-attention."""

    layer: int
    head: int
    shift: int
    """0: read where the token is predicted; 1: where it is the decoder's input."""


def choose_heads(network: Transformer, pairs: Sequence[Pair]) -> tuple[list[AlignmentHead], float]:
    """The heads whose mean aligns best, and the share of shared tokens that it aligns with themselves.

    Greedy: the best head, then the one that adds most to it, while any does.
    """
    seen = [found for pair in pairs if (found := _shared(network, pair))]
    sizes = network.config
    every = [
        AlignmentHead(layer, head, shift)
        for layer in range(sizes.num_decoder_layers)
        for head in range(sizes.num_heads)
        for shift in (0, 1)
    ]
    chosen: list[AlignmentHead] = []
    best = 0.0
    while len(chosen) < MOST_HEADS:
        scores = {one: _score(seen, [*chosen, one]) for one in every if one not in chosen}
        candidate = max(scores, key=lambda one: scores[one])
        if chosen and scores[candidate] <= best:
            break
        chosen.append(candidate)
        best = scores[candidate]
    return chosen, best


_Seen = tuple[dict[AlignmentHead, np.ndarray], list[tuple[int, int]]]


def _shared(network: Transformer, pair: Pair) -> _Seen | None:
    """Each head's weights [T, S], and the places of what both sides have exactly once."""
    source, target = pair.source.tolist(), pair.target.tolist()
    if target[-1] == EOS_ID:
        target = target[:-1]
    on_source, on_target = Counter(source[1:-1]), Counter(target)
    once = [token for token in target if on_target[token] == 1 and on_source[token] == 1]
    if not once:
        return None
    with torch.no_grad():
        maps = network.attention_maps(torch.tensor([source]), torch.tensor([[BOS_ID, *target]]))
    weights = {}
    for layer in range(network.config.num_decoder_layers):
        for head, one in enumerate(maps[f"decoder.{layer}.cross"][0].numpy()):
            for shift in (0, 1):
                place = AlignmentHead(layer, head, shift)
                weights[place] = one[shift : shift + len(target)]
    return weights, [(target.index(token), source.index(token)) for token in once]


def _score(seen: Sequence[_Seen], heads: Sequence[AlignmentHead]) -> float:
    """How many of the shared tokens are aligned with themselves, of all there are."""
    right = total = 0
    for weights, places in seen:
        mean = sum(weights[head] for head in heads)
        assert isinstance(mean, np.ndarray)
        inner = mean[:, 1:-1]  # neither tag nor EOS is anybody's translation
        right += sum(int(inner[t].argmax()) + 1 == s for t, s in places)
        total += len(places)
    return right / total if total else 0.0


def build_aligner(
    builder: GraphBuilder, config: ModelConfig, heads: Sequence[AlignmentHead]
) -> onnx.ModelProto:
    """Build the graph up to the last layer that a chosen head is in."""
    b, width = builder, config.d_head
    scale = float(np.float32(width**-0.5))
    last = max(head.layer for head in heads)
    length = b.op("Shape", "target_ids", start=1, end=2)
    x = _embedded(b, config, length)
    square = b.op(
        "Expand", b.constant([MASKED], np.float32), b.op("Concat", length, length, axis=0)
    )
    future = b.op("Trilu", square, b.constant(1), upper=1)  # [T + 1, T + 1]
    cross_bias = b.op("Unsqueeze", "source_bias", b.constant([1, 2]))  # [B, 1, 1, S]
    picked: list[str] = []
    for index in range(last + 1):
        layer = f"decoder.{index}"
        attention = f"{layer}.self_attention"
        qkv = b.linears(x, f"{attention}.w_q", f"{attention}.w_k", f"{attention}.w_v")
        context = b.merge_heads(
            b.op("Attention", *b.split_heads(qkv, width, parts=3), future, scale=scale)
        )
        x = b.layer_norm(b.op("Add", x, b.linear(context, f"{attention}.w_o")), f"{layer}.norm_1")
        [q] = b.split_heads(b.linear(x, f"{layer}.cross_attention.w_q"), width)
        keys = b.op("Transpose", f"cross_keys.{index}", perm=[0, 1, 3, 2])
        scores = b.op("Mul", b.op("MatMul", q, keys), b.constant(scale, np.float32))
        weights = b.op("Softmax", b.op("Add", scores, cross_bias), axis=-1)  # [B, H, T + 1, S]
        picked += [_rows(b, weights, head) for head in heads if head.layer == index]
        if index == last:
            break
        context = b.merge_heads(b.op("MatMul", weights, f"cross_values.{index}"))
        attended = b.linear(context, f"{layer}.cross_attention.w_o")
        x = b.layer_norm(b.op("Add", x, attended), f"{layer}.norm_2")
        x = b.layer_norm(b.op("Add", x, feed_forward(b, x, layer)), f"{layer}.norm_3")
    mean = b.op("Mean", *picked)
    names = [
        *(f"cross_keys.{index}" for index in range(last + 1)),
        *(f"cross_values.{index}" for index in range(last)),
    ]
    inputs = [
        tensor("target_ids", "i64", ["B", "U"]),
        tensor("source_bias", "f32", ["B", "S"]),
        *(tensor(name, "f32", ["B", config.num_heads, "S", width]) for name in names),
    ]
    outputs = {mean: tensor("alignment", "f32", ["B", "T", "S"])}
    return to_model(b.finish("aligner", inputs, outputs))


def _embedded(b: GraphBuilder, config: ModelConfig, length: str) -> str:
    """[B, T + 1, d]: the target's embeddings and positions."""
    positions = sinusoids(config.max_positions, config.d_model).numpy().astype(b.float_dtype)
    table = b.weights["embedding.weight"] * math.sqrt(config.d_model)
    place = b.op("Range", b.constant(0), b.op("Squeeze", length), b.constant(1))
    return str(
        b.op(
            "Add",
            b.embed("target_ids", table, "embedding.weight.scaled"),
            b.op("Gather", b.initializer("positions", positions), place),
        )
    )


def _rows(b: GraphBuilder, weights: str, head: AlignmentHead) -> str:
    """[B, T, S]: one head's weights, from its shift on."""
    one = b.op("Gather", weights, b.constant(head.head), axis=1)  # [B, T + 1, S]
    stop = -1 if head.shift == 0 else np.iinfo(np.int64).max
    return str(b.op("Slice", one, b.constant([head.shift]), b.constant([stop]), b.constant([1])))

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
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx
import torch

from export.encoder import feed_forward
from export.graph import MASKED, GraphBuilder, tensor, to_model
from model.config import ModelConfig
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, EOS_ID, Vocabularies
from model.transformer import Transformer, sinusoids

MOST_HEADS = 4


class AlignmentHead(NamedTuple):
    """One head of the decoder's cross-attention."""

    layer: int
    head: int
    shift: int
    """0: read where the token is predicted; 1: where it is the decoder's input."""


def choose_heads(
    network: Transformer, pairs: Sequence[Pair], vocabularies: Vocabularies
) -> tuple[list[AlignmentHead], float]:
    """The heads whose mean aligns best, and the share of shared tokens that it aligns with themselves.

    Greedy: the best head, then the one that adds most to it, while any does.
    """
    seen = [found for pair in pairs if (found := _shared(network, pair, vocabularies))]
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


def _shared(network: Transformer, pair: Pair, vocabularies: Vocabularies) -> _Seen | None:
    """Each head's weights [T, S], and the places of what both sides have exactly once."""
    source, target = pair.source.tolist(), pair.target.tolist()
    if target[-1] == EOS_ID:
        target = target[:-1]
    source_pieces, target_pieces = (
        [tokenizer.processor.id_to_piece(token) for token in ids]
        for tokenizer, ids in zip(vocabularies, (source, target), strict=True)
    )
    on_source, on_target = Counter(source_pieces[1:-1]), Counter(target_pieces)
    once = [piece for piece in target_pieces if on_target[piece] == 1 and on_source[piece] == 1]
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
    return weights, [(target_pieces.index(piece), source_pieces.index(piece)) for piece in once]


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
    b = builder
    last = max(head.layer for head in heads)
    mean = b.op("Mean", *_Decoder(b, config, heads).rows_of_heads(last))
    names = [
        *(f"cross_keys.{index}" for index in range(last + 1)),
        *(f"cross_values.{index}" for index in range(last)),
    ]
    inputs = [
        tensor("target_ids", "i64", ["B", "U"]),
        tensor("source_bias", "f32", ["B", "S"]),
        *(tensor(name, "f32", ["B", config.num_heads, "S", config.d_head]) for name in names),
    ]
    outputs = {mean: tensor("alignment", "f32", ["B", "T", "S"])}
    return to_model(b.finish("aligner", inputs, outputs))


class _Decoder:
    """The decoder over a whole translation at once, and what its chosen heads look at."""

    def __init__(
        self, builder: GraphBuilder, config: ModelConfig, heads: Sequence[AlignmentHead]
    ) -> None:
        self.b, self.config, self.heads = builder, config, heads
        self.scale = float(np.float32(config.d_head**-0.5))
        self.picked: list[str] = []
        b = builder
        self.length = b.op("Shape", "target_ids", start=1, end=2)
        square = b.op("Concat", self.length, self.length, axis=0)
        masked = b.op("Expand", b.constant([MASKED], np.float32), square)
        self.future = b.op("Trilu", masked, b.constant(1), upper=1)  # [T + 1, T + 1]
        self.cross_bias = b.op("Unsqueeze", "source_bias", b.constant([1, 2]))  # [B, 1, 1, S]

    def rows_of_heads(self, last: int) -> list[str]:
        """[B, T, S] of each chosen head; nothing of what comes after the weights of layer `last`."""
        b, pre_norm = self.b, self.config.norm == "pre"
        x = _embedded(b, self.config, self.length)
        for index in range(last + 1):
            layer = f"decoder.{index}"
            attending = partial(self._self_attention, module=f"{layer}.self_attention")
            x = b.residual(x, f"{layer}.norm_1", pre_norm, attending)
            if index == last:
                self._cross_weights(b.layer_norm(x, f"{layer}.norm_2") if pre_norm else x, index)
                break
            crossing = partial(self._cross_attention, index=index)
            x = b.residual(x, f"{layer}.norm_2", pre_norm, crossing)
            feeding = partial(feed_forward, b, layer=layer, config=self.config)
            x = b.residual(x, f"{layer}.norm_3", pre_norm, feeding)
        return self.picked

    def _self_attention(self, x: str, module: str) -> str:
        b = self.b
        qkv = b.linears(x, f"{module}.w_q", f"{module}.w_k", f"{module}.w_v")
        heads = b.split_heads(qkv, self.config.d_head, parts=3)
        context = b.merge_heads(b.op("Attention", *heads, self.future, scale=self.scale))
        return b.linear(context, f"{module}.w_o")

    def _cross_weights(self, x: str, index: int) -> str:
        """[B, H, T + 1, S]; the rows of the chosen heads are picked from them."""
        b = self.b
        projected = b.linear(x, f"decoder.{index}.cross_attention.w_q")
        [q] = b.split_heads(projected, self.config.d_head)
        keys = b.op("Transpose", f"cross_keys.{index}", perm=[0, 1, 3, 2])
        scores = b.op("Mul", b.op("MatMul", q, keys), b.constant(self.scale, np.float32))
        weights = str(b.op("Softmax", b.op("Add", scores, self.cross_bias), axis=-1))
        self.picked += [_rows(b, weights, head) for head in self.heads if head.layer == index]
        return weights

    def _cross_attention(self, x: str, index: int) -> str:
        b, weights = self.b, self._cross_weights(x, index)
        context = b.merge_heads(b.op("MatMul", weights, f"cross_values.{index}"))
        return b.linear(context, f"decoder.{index}.cross_attention.w_o")


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

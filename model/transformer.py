"""The Transformer, section by section of "Attention Is All You Need" (Vaswani et al., 2017).

Shapes: B sentences, S source and T target positions, H heads, D = d_model / H, V vocabulary.
Sub-layers are post-norm as in the paper, LayerNorm(x + Dropout(Sublayer(x))), or pre-norm (Xiong et al.,
2020), x + Dropout(Sublayer(LayerNorm(x))), with one more norm at the end of each stack.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config import ModelConfig
from model.dropout import Dropout
from model.ssru import SSRU

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "gelu_sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
}
AttentionMaps = dict[str, Tensor]
"""Attention weights [B, H, queries, keys] by layer and kind: `encoder.0.self`, `decoder.2.cross`."""


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return a mask that is True for keys that are not padding: ids [B, S] -> [B, 1, 1, S]."""
    return (ids != pad_id)[:, None, None, :]


def look_ahead_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return a mask that is True if position i (row) may see j <= i (column): [1, 1, T, T] (section 3.1)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention with H heads (sections 3.2.1 and 3.2.2)."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        """Split d_model into `num_heads` heads of d_model / num_heads; `dropout` applies to the weights."""
        super().__init__()
        self.num_heads = num_heads
        self.dropout = Dropout(dropout)
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def _split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = x.view(batch, length, self.num_heads, width // self.num_heads)
        return heads.transpose(1, 2)  # [B, T, H*D] -> [B, H, T, D]

    def forward(
        self, query: Tensor, memory: Tensor, mask: Tensor, weights_out: list[Tensor] | None = None
    ) -> Tensor:
        """Attend from query [B, T, d_model] to memory [B, S, d_model]; returns [B, T, d_model].

        Positions are attended to if `mask`, which broadcasts to [B, H, T, S], is True. The attention weights
        [B, H, T, S] are appended to `weights_out`, if given.
        """
        q = self._split(self.w_q(query))  # [B, H, T, D]
        k = self._split(self.w_k(memory))  # [B, H, S, D]
        v = self._split(self.w_v(memory))  # [B, H, S, D]
        if weights_out is None and q.is_cuda:
            rate = self.dropout.rate if self.training else 0.0
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate)
        else:
            context = self._attend(q.float(), k.float(), v.float(), mask, weights_out)
        output: Tensor = self.w_o(context.transpose(1, 2).flatten(-2))  # [B, T, d_model]
        return output

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, weights_out: list[Tensor] | None
    ) -> Tensor:
        """Compute equation (1) directly; on a CPU, this is faster than the fused kernel for sentences.

        The computation is always in float32: the gradient of the softmax is a difference of nearly equal
        numbers, and in bf16 too little of it remained for the encoder to learn.
        """
        with torch.autocast(q.device.type, enabled=False):
            scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            if weights_out is not None:
                weights_out.append(weights)
            context: Tensor = self.dropout(weights) @ v
            return context


class PositionwiseFeedForward(nn.Module):
    """FFN(x) = max(0, x W1 + b1) W2 + b2 (section 3.3), or with another activation instead of max."""

    def __init__(self, config: ModelConfig) -> None:
        """Build the projections from d_model to d_ff and back."""
        super().__init__()
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, T, d_model] to the same shape, each position independently."""
        output: Tensor = self.w_2(self.dropout(self.activation(self.w_1(x))))
        return output


class PositionalEncoding(nn.Module):
    """Adds the sinusoids of section 3.5 or a table that is loaded with the weights."""

    table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        """Precompute the table [max_positions, d_model]."""
        super().__init__()
        is_stored = config.positions == "stored"
        self.register_buffer("table", position_table(config), persistent=is_stored)

    def forward(self, x: Tensor) -> Tensor:
        """Add positions 0 to T-1 to x [B, T, d_model]; T may be at most `max_positions`."""
        if x.shape[1] > self.table.shape[0]:
            raise ValueError(
                f"{x.shape[1]} positions, but the model has max_positions = {self.table.shape[0]}"
            )
        return x + self.table[: x.shape[1]]


def position_table(config: ModelConfig) -> Tensor:
    """Compute the position encodings that a configuration asks for: [max_positions, d_model]."""
    count, first = config.max_positions, config.position_offset
    inclusive = config.position_exponent == "inclusive"
    halves = config.position_layout == "halves"
    return sinusoids(first + count, config.d_model, inclusive=inclusive, halves=halves)[first:]


def sinusoids(
    positions: int, d_model: int, *, inclusive: bool = False, halves: bool = False
) -> Tensor:
    """Compute PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(same): [positions, d_model].

    If `inclusive`, the exponent is 2i/(d_model - 2), so the last one is 1. With `halves`, sines come first.
    """
    steps = max(1, d_model - 2) if inclusive else d_model
    frequency = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / steps))
    angle = torch.arange(positions)[:, None] * frequency  # [positions, d_model / 2]
    if halves:
        return torch.cat((angle.sin(), angle.cos()), dim=-1)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


class Layer(nn.Module):
    """The common part of encoder and decoder layers: residual connections, dropout and norms."""

    self_attention: MultiHeadAttention
    norm_1: nn.LayerNorm

    def __init__(self, config: ModelConfig) -> None:
        """Read the position of the norm and the dropout rate from `config`."""
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.normed_keys = config.normed_keys
        self.dropout = Dropout(config.dropout)

    def residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a sub-layer with residual, dropout and norm: [B, T, d_model] -> the same shape."""
        if self.pre_norm:
            summed: Tensor = x + self.dropout(sublayer(norm(x)))
            return summed
        normed: Tensor = norm(x + self.dropout(sublayer(x)))
        return normed

    def attend_to_itself(self, x: Tensor, mask: Tensor, weights_out: list[Tensor] | None) -> Tensor:
        """Apply the self-attention sub-layer: [B, T, d_model] -> the same shape."""

        def attend(y: Tensor) -> Tensor:
            attended: Tensor = self.self_attention(
                y, y if self.normed_keys else x, mask, weights_out
            )
            return attended

        return self.residual(x, self.norm_1, attend)


class EncoderLayer(Layer):
    """Self-attention and feed-forward, each with residual and norm (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        """Build one layer of the given sizes."""
        super().__init__(config)
        self.self_attention = _attention(config)
        self.feed_forward = PositionwiseFeedForward(config)
        self.norm_1, self.norm_2 = _norm(config), _norm(config)

    def forward(
        self, x: Tensor, source_mask: Tensor, weights_out: list[Tensor] | None = None
    ) -> Tensor:
        """Map x [B, S, d_model] to the same shape."""
        x = self.attend_to_itself(x, source_mask, weights_out)
        return self.residual(x, self.norm_2, self.feed_forward)


class DecoderLayer(Layer):
    """Masked self-attention or an SSRU, attention to the encoder's output, and feed-forward (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        """Build one layer of the given sizes."""
        super().__init__(config)
        self.is_recurrent = config.decoder_cell == "ssru"
        if self.is_recurrent:
            self.recurrence = SSRU(config.d_model)
        else:
            self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = PositionwiseFeedForward(config)
        self.norm_1, self.norm_2, self.norm_3 = _norm(config), _norm(config), _norm(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor,
        source_mask: Tensor,
        weights_out: list[Tensor] | None = None,
    ) -> Tensor:
        """Map x [B, T, d_model] to the same shape, given memory [B, S, d_model]."""
        if self.is_recurrent:
            x = self.residual(x, self.norm_1, self.recurrence)
        else:
            x = self.attend_to_itself(x, target_mask, weights_out)
        x = self.residual(
            x, self.norm_2, lambda y: self.cross_attention(y, memory, source_mask, weights_out)
        )
        return self.residual(x, self.norm_3, self.feed_forward)


def _attention(config: ModelConfig) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.num_heads, config.attention_dropout)


def _norm(config: ModelConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_epsilon)


class Transformer(nn.Module):
    """The whole network.

    As in section 3.4 of the paper, a single table embeds both sides and projects to the vocabulary. With
    `embeddings = "target"`, the source has its own table; with "separate", the projection also has one.
    """

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        """Build the network with Xavier-uniform weights and embeddings of variance 1 / d_model."""
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.embeddings != "shared":
            self.source_embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.embeddings == "separate":
            self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.projection_bias:
            self.projection_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.source_positions = PositionalEncoding(config)
        self.target_positions = PositionalEncoding(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.encoder_norm, self.decoder_norm = _final_norm(config), _final_norm(config)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and name.split(".")[0] in ("encoder", "decoder"):
                nn.init.xavier_uniform_(parameter)
            elif parameter.dim() == 2:  # tables of source, target and projection
                nn.init.normal_(parameter, std=config.d_model**-0.5)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def _embed(self, ids: Tensor, table: nn.Embedding, positions: PositionalEncoding) -> Tensor:
        scaled = table(ids) * self.config.embedding_scale
        embedded: Tensor = self.dropout(positions(scaled))
        return embedded

    def encode(self, source: Tensor, maps: AttentionMaps | None = None) -> Tensor:
        """Encode source ids [B, S] to memory [B, S, d_model]."""
        mask = padding_mask(source, self.pad_id)
        shared = self.config.embeddings == "shared"
        table = self.embedding if shared else self.source_embedding
        x = self._embed(source, table, self.source_positions)
        for index, layer in enumerate(self.encoder):
            weights: list[Tensor] | None = None if maps is None else []
            x = layer(x, mask, weights)
            if maps is not None and weights:
                maps[f"encoder.{index}.self"] = weights[0]
        memory: Tensor = self.encoder_norm(x)
        return memory

    def decode(
        self, target: Tensor, memory: Tensor, source: Tensor, maps: AttentionMaps | None = None
    ) -> Tensor:
        """Decode target ids [B, T] from BOS on, given memory [B, S, d_model], to states [B, T, d_model].

        Targets are padded on the right, so the look-ahead mask also hides padding from real positions.
        """
        source_mask = padding_mask(source, self.pad_id)
        target_mask = look_ahead_mask(target.shape[1], target.device)
        x = self._embed(target, self.embedding, self.target_positions)
        for index, layer in enumerate(self.decoder):
            weights: list[Tensor] | None = None if maps is None else []
            x = layer(x, memory, target_mask, source_mask, weights)
            if maps is not None and weights:
                maps[f"decoder.{index}.cross"] = weights[-1]
                if len(weights) > 1:  # a recurrent layer has no self-attention
                    maps[f"decoder.{index}.self"] = weights[0]
        states: Tensor = self.decoder_norm(x)
        return states

    def project(self, states: Tensor) -> Tensor:
        """Project states [..., d_model] to logits [..., V] before the softmax."""
        is_separate = self.config.embeddings == "separate"
        weight = self.projection.weight if is_separate else self.embedding.weight
        bias = self.projection_bias if self.config.projection_bias else None
        return F.linear(states, weight, bias)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Compute logits of source ids [B, S] and target ids [B * K, T] from BOS on: [B * K, T, V].

        The K targets of a source are in consecutive rows, and the source is encoded once for all of them.
        """
        memory, num_targets = self.encode(source), len(target) // len(source)
        if num_targets > 1:
            memory = memory.repeat_interleave(num_targets, 0)
            source = source.repeat_interleave(num_targets, 0)
        return self.project(self.decode(target, memory, source))

    def attention_maps(self, source: Tensor, target: Tensor) -> AttentionMaps:
        """Return every layer's attention weights for source [B, S] and target [B, T]."""
        maps: AttentionMaps = {}
        self.decode(target, self.encode(source, maps), source, maps)
        return maps


def _final_norm(config: ModelConfig) -> nn.Module:
    """Return the norm at the end of a stack, which pre-norm needs because its last sum is not normalized."""
    return _norm(config) if config.has_final_norm else nn.Identity()

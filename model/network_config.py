"""The sizes of the network, and the variants of it that exist."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from model.checks import above_0, at_least, one_of, require, share

ACTIVATIONS = "relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu"


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the network, in the names of section 3 of the paper, and how others' networks differ."""

    vocab_size: int
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    norm: Literal["post", "pre"] = "post"
    decoder_cell: Literal["attention", "ssru"] = "attention"
    """What gives the decoder's layers what was before: self-attention, or a recurrent unit (see `SSRU`)."""
    normed_keys: bool = True
    """Whether pre-norm's self-attention makes keys and values, too, of the normed input, or queries alone."""
    final_norm: Literal["pre", "always", "never"] = "pre"
    """Whether each stack ends with one more norm: where `norm` is "pre", always, or never."""
    layer_norm_epsilon: float = 1e-5
    """Added to the variance."""
    activation: Literal["relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu"] = "relu"
    """"gelu_tanh" and "gelu_sigmoid", which is x sigmoid(1.702 x), come near to the GELU."""
    embeddings: Literal["shared", "target", "separate"] = "shared"
    max_positions: int = 1024
    positions: Literal["sinusoids", "stored"] = "sinusoids"
    """What is added at each position: computed as follows, or a table of each side's among the weights."""
    position_layout: Literal["interleaved", "halves"] = "interleaved"
    """Sines and cosines by turns, or all sines before all cosines."""
    position_exponent: Literal["exclusive", "inclusive"] = "exclusive"
    """Of T frequencies, the i-th is 10000 to the minus i/T, or i/(T-1), which the last one makes -1."""
    position_offset: int = 0
    """The position of the first token."""
    scaled_embeddings: bool = True
    """Whether embeddings are multiplied by sqrt(d_model) (section 3.4)."""
    projection_bias: bool = False
    """Whether something is added to the logits; -inf keeps a row of the table from being a token at all."""
    forbidden_ids: tuple[int, ...] = ()
    """Tokens that have a probability, and may not be produced for all that."""

    def __post_init__(self) -> None:
        """Refuse sizes that no network can have."""
        layers = ("num_encoder_layers", "num_decoder_layers")
        at_least(1, self, "model", "vocab_size", "d_model", "d_ff", "num_heads", *layers)
        at_least(8, self, "model", "max_positions")
        at_least(0, self, "model", "position_offset")
        require(
            self.d_model % (2 * self.num_heads) == 0,
            f"model.d_model = {self.d_model} must be a multiple of 2 x num_heads = {2 * self.num_heads}",
        )
        above_0(self, "model", "layer_norm_epsilon")
        share(self, "model", "dropout", "attention_dropout", "activation_dropout")
        one_of(self, "model", norm=("post", "pre"), final_norm=("pre", "always", "never"))
        one_of(self, "model", activation=ACTIVATIONS, decoder_cell=("attention", "ssru"))
        one_of(self, "model", positions=("sinusoids", "stored"))
        one_of(self, "model", embeddings=("shared", "target", "separate"))
        one_of(self, "model", position_layout=("interleaved", "halves"))
        one_of(self, "model", position_exponent=("exclusive", "inclusive"))
        require(
            all(0 <= id < self.vocab_size for id in self.forbidden_ids),
            f"model.forbidden_ids = {list(self.forbidden_ids)} must be below vocab_size = {self.vocab_size}",
        )

    @property
    def d_head(self) -> int:
        """Width of one attention head: d_k = d_v of section 3.2.2."""
        return self.d_model // self.num_heads

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack ends with one more norm."""
        return self.final_norm == "always" or (self.final_norm == self.norm == "pre")

    @property
    def embedding_scale(self) -> float:
        """By which embeddings are multiplied."""
        return math.sqrt(self.d_model) if self.scaled_embeddings else 1.0

    def with_regularization_of(self, other: "ModelConfig") -> "ModelConfig":
        """These sizes with the other's dropout, which a trained network may change."""
        return dataclasses.replace(
            self,
            dropout=other.dropout,
            attention_dropout=other.attention_dropout,
            activation_dropout=other.activation_dropout,
        )

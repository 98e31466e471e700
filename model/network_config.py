"""The sizes of the network and its supported variants."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from model.checks import above_0, at_least, one_of, require, share

ACTIVATIONS = "relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu"


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the network, named as in section 3 of the paper, and variants of other systems' networks."""

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
    """How decoder layers see earlier positions: by self-attention or by a recurrent unit (see `SSRU`)."""
    normed_keys: bool = True
    """Whether pre-norm self-attention computes keys and values, not only queries, from the normed input."""
    final_norm: Literal["pre", "always", "never"] = "pre"
    """When each stack ends with one more norm: if `norm` is "pre", always, or never."""
    layer_norm_epsilon: float = 1e-5
    """Added to the variance."""
    activation: Literal["relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu"] = "relu"
    """"gelu_tanh" and "gelu_sigmoid", x sigmoid(1.702 x), are approximations of GELU."""
    embeddings: Literal["shared", "target", "separate"] = "shared"
    max_positions: int = 1024
    positions: Literal["sinusoids", "stored"] = "sinusoids"
    """Whether position encodings are computed as follows, or stored with the weights as a table per side."""
    position_layout: Literal["interleaved", "halves"] = "interleaved"
    """Alternating sines and cosines, or all sines before all cosines."""
    position_exponent: Literal["exclusive", "inclusive"] = "exclusive"
    """Frequency i of T is 10000^(-i/T), or 10000^(-i/(T-1)), whose last exponent is -1."""
    position_offset: int = 0
    """The position of the first token."""
    scaled_embeddings: bool = True
    """Whether embeddings are multiplied by sqrt(d_model) (section 3.4)."""
    projection_bias: bool = False
    """Whether logits have a bias. A bias of -inf removes a row of the table from the vocabulary."""
    forbidden_ids: tuple[int, ...] = ()
    """Tokens that are never produced, although they keep their share of the probability."""

    def __post_init__(self) -> None:
        """Check all values."""
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
        """The factor that embeddings are multiplied by."""
        return math.sqrt(self.d_model) if self.scaled_embeddings else 1.0

    def with_regularization_of(self, other: "ModelConfig") -> "ModelConfig":
        """Return this configuration with the other's dropout rates, which may change between runs."""
        return dataclasses.replace(
            self,
            dropout=other.dropout,
            attention_dropout=other.attention_dropout,
            activation_dropout=other.activation_dropout,
        )

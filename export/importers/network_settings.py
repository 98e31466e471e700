"""What the configurations of transformers' models have in common: sizes, and how a model is searched."""

from typing import Any

from export.importers.folder_parts import length_penalty
from export.importers.imported import SourceError
from export.importers.settings import Settings
from model.network_config import ModelConfig
from service.engine.types import StopRule
from service.models.bundle import DecodingDefaults

ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
MAX_SIZE = 65_536


def network_settings(settings: Settings, **variants: Any) -> ModelConfig:
    """A network's sizes and activation, with the variants of its format.

    Raises:
        SourceError: it is none that is built here.
    """

    def size(key: str) -> int:
        return settings.number(key, 1, MAX_SIZE)

    for one in ("attention_heads", "ffn_dim"):
        settings.refuse(f"decoder_{one}", size(f"encoder_{one}"))
    settings.refuse("activation_function", *ACTIVATIONS)
    d_model, heads = size("d_model"), size("encoder_attention_heads")
    if d_model % (2 * heads):
        raise SourceError(
            f"{settings.path}: d_model = {d_model}; supported: multiples of twice "
            f"encoder_attention_heads, {2 * heads}"
        )
    return ModelConfig(
        d_model=d_model,
        d_ff=size("encoder_ffn_dim"),
        num_heads=heads,
        num_encoder_layers=size("encoder_layers"),
        num_decoder_layers=size("decoder_layers"),
        dropout=0.0,
        activation=ACTIVATIONS[settings.get("activation_function", str, "gelu")],  # type: ignore[arg-type]
        position_layout="halves",
        scaled_embeddings=settings.get("scale_embedding", bool, False),
        projection_bias=True,
        **variants,
    )


def decoding_defaults(settings: Settings) -> DecodingDefaults:
    """How transformers searches, unless it is told otherwise."""
    penalty = length_penalty(settings.get("length_penalty", float, 1.0))
    bound = any(values == "never" for values in settings.all("early_stopping"))
    return DecodingDefaults(
        beam_size=settings.number("num_beams", 1, 64, 4),
        length_penalty=penalty,
        stop_rule=StopRule.BOUND if bound and penalty >= 0 else StopRule.FIRST,
    )

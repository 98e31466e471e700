"""Settings that several formats have in common: a network's sizes and the search."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from export.importers.folder_parts import search_of
from export.importers.imported import SourceError
from export.importers.settings import Settings
from model.network_config import ModelConfig
from service.engine.types import StopRule
from service.models.bundle import DecodingDefaults

MAX_SIZE = 65_536
STOP_RULES: Mapping[bool | str, StopRule] = {
    True: StopRule.FIRST,
    False: StopRule.BEATEN,
    "never": StopRule.BOUND,
}
"""By the value of `early_stopping` in transformers."""


class Size(NamedTuple):
    """The key of a size in a configuration."""

    key: str
    default: int | None = None
    same: str = ""
    """A second key, often the decoder's, which must have the same value."""
    unset: int | None = None
    """The value of the second key that means that it is not set."""


class SizeKeys(NamedTuple):
    """A format's keys of a network's sizes and activation."""

    d_model: Size
    d_ff: Size
    num_heads: Size
    num_encoder_layers: Size
    num_decoder_layers: Size
    activation: str
    default_activation: str
    activations: Mapping[str, str]
    """The names in `ModelConfig` by the format's names."""


TRANSFORMERS = SizeKeys(
    Size("d_model"),
    Size("encoder_ffn_dim", same="decoder_ffn_dim"),
    Size("encoder_attention_heads", same="decoder_attention_heads"),
    Size("encoder_layers"),
    Size("decoder_layers"),
    "activation_function",
    "gelu",
    {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"},
)


def network_settings(settings: Settings, keys: SizeKeys, **variants: Any) -> ModelConfig:
    """Return a network's configuration: sizes and activation from the settings, and its format's variants.

    Raises:
        SourceError: the network is not supported.
    """
    sizes: dict[str, Any] = {}
    for name, size in zip(keys._fields[:5], keys[:5], strict=True):
        sizes[name] = settings.number(size.key, 1, MAX_SIZE, size.default)
        if size.same:
            unset = [] if size.unset is None else [size.unset]
            settings.refuse(size.same, *unset, sizes[name])
    step = 2 * sizes["num_heads"]
    if sizes["d_model"] % step:
        raise SourceError(
            f"{settings.path}: {keys.d_model.key} = {sizes['d_model']}; supported: multiples of twice "
            f"{keys.num_heads.key}, {step}"
        )
    settings.refuse(keys.activation, *keys.activations)
    activation = keys.activations[settings.get(keys.activation, str, keys.default_activation)]
    return ModelConfig(
        **sizes,
        activation=activation,  # type: ignore[arg-type]
        dropout=0.0,
        projection_bias=True,
        **variants,
    )


def decoding_defaults(settings: Settings) -> DecodingDefaults:
    """Return the search options that transformers would use.

    Raises:
        SourceError: an option is not supported.
    """
    exponent = settings.get("length_penalty", float, 1.0)
    settings.refuse("early_stopping", *STOP_RULES)
    values = [value for value in settings.all("early_stopping") if value is not None]
    rule = STOP_RULES[values[0] if values else False]
    if rule is StopRule.BOUND and exponent < 0:  # the longest hypothesis is then no bound
        rule = StopRule.BEATEN
    return search_of(settings.number("num_beams", 1, 64, 4), exponent, rule)

"""Converts a network to a CTranslate2 model with the same weights, for comparisons and as an oracle.

CTranslate2 shares no code with the engine: both the network and the beam search are independent.
"""

from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from torch import nn

from model import tokenizer as vocabulary
from model.transformer import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    PositionwiseFeedForward,
    Transformer,
    sinusoids,
)


def pieces(vocab_size: int) -> list[str]:
    """Return a vocabulary for CTranslate2 with a distinct string for each id."""
    return [f"t{index}" for index in range(vocab_size)]


ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_tanh": Activation.GELUTanh,
    "gelu_sigmoid": Activation.GELUSigmoid,
    "silu": Activation.SWISH,
}


def convert(
    network: Transformer,
    folder: Path,
    quantization: str | None = None,
    names: list[str] | None = None,
    **config: object,
) -> Path:
    """Write the network as a CTranslate2 model; `quantization` is CTranslate2's, such as "int8".

    `names` are the tokens, and `config` has further values for `config.json`.
    """
    sizes = network.config
    layers = (sizes.num_encoder_layers, sizes.num_decoder_layers)
    pre_norm = sizes.norm == "pre"
    spec = TransformerSpec.from_config(
        layers,
        sizes.num_heads,
        pre_norm=pre_norm,
        activation=ACTIVATIONS[sizes.activation],
    )
    names = names or pieces(sizes.vocab_size)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = names[vocabulary.BOS_ID]
    spec.config.eos_token = names[vocabulary.EOS_ID]
    spec.config.unk_token = names[vocabulary.UNK_ID]
    spec.config.layer_norm_epsilon = sizes.layer_norm_epsilon
    for key, value in config.items():
        setattr(spec.config, key, value)
    _fill(spec, network)
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    return folder


def load(folder: Path, **options: object) -> ctranslate2.Translator:
    """Load a converted model in CTranslate2, with CTranslate2's `options`."""
    return ctranslate2.Translator(str(folder), device="cpu", **options)


def _fill(spec: TransformerSpec, network: Transformer) -> None:
    table = network.embedding.weight.detach().numpy().copy()  # quantization writes into it
    positions = sinusoids(network.config.max_positions, network.config.d_model).numpy()
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = True
        side.position_encodings.encodings = positions
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    if network.config.norm == "pre":
        _norm(spec.encoder.layer_norm, network.encoder_norm)
        _norm(spec.decoder.layer_norm, network.decoder_norm)
    for target, source in zip(spec.encoder.layer, network.encoder, strict=True):
        assert isinstance(source, EncoderLayer)
        _self_attention(target.self_attention, source.self_attention)
        _norm(target.self_attention.layer_norm, source.norm_1)
        _feed_forward(target.ffn, source.feed_forward, source.norm_2)
    for target, source in zip(spec.decoder.layer, network.decoder, strict=True):
        assert isinstance(source, DecoderLayer)
        _self_attention(target.self_attention, source.self_attention)
        _norm(target.self_attention.layer_norm, source.norm_1)
        attention = source.cross_attention
        _linear(target.attention.linear[0], attention.w_q)
        _linear(target.attention.linear[1], attention.w_k, attention.w_v)
        _linear(target.attention.linear[2], attention.w_o)
        _norm(target.attention.layer_norm, source.norm_2)
        _feed_forward(target.ffn, source.feed_forward, source.norm_3)


def _self_attention(spec: object, attention: MultiHeadAttention) -> None:
    _linear(spec.linear[0], attention.w_q, attention.w_k, attention.w_v)  # type: ignore[attr-defined]
    _linear(spec.linear[1], attention.w_o)  # type: ignore[attr-defined]


def _feed_forward(spec: object, source: PositionwiseFeedForward, norm: nn.LayerNorm) -> None:
    _linear(spec.linear_0, source.w_1)  # type: ignore[attr-defined]
    _linear(spec.linear_1, source.w_2)  # type: ignore[attr-defined]
    _norm(spec.layer_norm, norm)  # type: ignore[attr-defined]


def _linear(spec: LinearSpec, *layers: nn.Linear) -> None:
    """Copy a linear layer, or several with the same input as one."""
    spec.weight = np.concatenate([layer.weight.detach().numpy() for layer in layers])
    spec.bias = np.concatenate([layer.bias.detach().numpy() for layer in layers])


def _norm(spec: LayerNormSpec, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = norm.weight.detach().numpy(), norm.bias.detach().numpy()

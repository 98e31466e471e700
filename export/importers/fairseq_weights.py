"""Conversion of the parameters of fairseq's Transformer and of networks with the same names.

These are transformers' MarianMTModel and M2M100ForConditionalGeneration.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from export.importers.imported import Side, SourceError
from export.importers.tensors import Tensors
from model.network_config import ModelConfig
from model.transformer import position_table

MAX_POSITION_ERROR = 1e-3
ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
ENCODER_LAYER = {
    "self_attn_layer_norm": "norm_1",
    "final_layer_norm": "norm_2",
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    **{f"self_attn.{theirs}": f"self_attention.{ours}" for theirs, ours in ATTENTION.items()},
}
DECODER_LAYER = ENCODER_LAYER | {
    "encoder_attn_layer_norm": "norm_2",
    "final_layer_norm": "norm_3",
    **{f"encoder_attn.{theirs}": f"cross_attention.{ours}" for theirs, ours in ATTENTION.items()},
}


class Names(NamedTuple):
    """The names that differ between libraries."""

    stacks: str
    """Prefix of the names of encoder and decoder."""
    shared: str | None
    """The shared embedding table, if it has its own name."""
    source: str
    target: str
    output: str
    bias: str | None
    """The bias of the logits, if there is one."""


HUGGING_FACE = Names(
    "model.",
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
    "final_logits_bias",
)
FAIRSEQ = Names(
    "",
    None,
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
    None,
)
STORED = {"encoder": "source_positions.table", "decoder": "target_positions.table"}


def read_weights(
    tensors: Tensors,
    config: ModelConfig,
    sides: tuple[Side, Side],
    sizes: tuple[int, int],
    names: Names,
) -> dict[str, Tensor]:
    """Return the network's parameters by name; `sizes` are the vocabularies' sizes.

    Raises:
        SourceError: a tensor is missing, has a wrong shape, or is not used.
    """
    weights: dict[str, Tensor] = {}
    for stack, count, modules in (
        ("encoder", config.num_encoder_layers, ENCODER_LAYER),
        ("decoder", config.num_decoder_layers, DECODER_LAYER),
    ):
        for layer in range(count):
            for theirs, ours in modules.items():
                weights |= _module(
                    tensors,
                    f"{names.stacks}{stack}.layers.{layer}.{theirs}",
                    f"{stack}.{layer}.{ours}",
                    config,
                )
        if config.norm == "pre":
            weights |= _module(
                tensors, f"{names.stacks}{stack}.layer_norm", f"{stack}_norm", config
            )
        weights |= _positions(tensors, f"{names.stacks}{stack}", stack, config)
    weights |= _tables(tensors, config, sides, sizes, names)
    tensors.check_all_taken()
    return weights


def _module(tensors: Tensors, theirs: str, ours: str, config: ModelConfig) -> dict[str, Tensor]:
    wide, narrow = config.d_ff, config.d_model
    shapes = {"w_1": (wide, narrow), "w_2": (narrow, wide)}
    shape = shapes.get(ours.rpartition(".")[2], (narrow, narrow))
    is_norm = "norm" in ours
    return {
        f"{ours}.weight": tensors.take(f"{theirs}.weight", *((narrow,) if is_norm else shape)),
        f"{ours}.bias": tensors.take(f"{theirs}.bias", narrow if is_norm else shape[0]),
    }


def _tables(
    tensors: Tensors,
    config: ModelConfig,
    sides: tuple[Side, Side],
    sizes: tuple[int, int],
    names: Names,
) -> dict[str, Tensor]:
    """Return embeddings and projection in the bundle's order of ids."""
    (source, target), (size, target_size) = (side.arrangement for side in sides), sizes
    shared = [names.shared] if names.shared else []
    output = [names.output] * (config.embeddings != "separate")
    if config.embeddings == "shared":
        tied_names = (*shared, names.source, names.target, *output)
        weights = {
            "embedding.weight": target.table(_tied_table(tensors, size, config, *tied_names))
        }
    else:
        source_name, target_name = (
            shared[0] if name not in tensors and shared and shared[0] in tensors else name
            for name in (names.source, names.target)
        )
        embedded = _tied_table(tensors, target_size, config, target_name, *output)
        weights = {
            "source_embedding.weight": source.table(
                _tied_table(tensors, size, config, source_name)
            ),
            "embedding.weight": target.table(embedded),
        }
        tensors.ignore(*shared)
    if not output:
        projection = tensors.take(names.output, target_size, config.d_model)
        weights["projection.weight"] = target.table(projection)
    bias = torch.zeros(target_size)
    if names.bias and names.bias in tensors:
        bias = tensors.take(names.bias, 1, target_size)[0]
    weights["projection_bias"] = target.bias(bias)
    return weights


def _tied_table(tensors: Tensors, size: int, config: ModelConfig, *names: str) -> Tensor:
    """Return a table that is stored under one or several names.

    Raises:
        SourceError: it is missing, or its copies differ.
    """
    stored_names = [name for name in names if name in tensors] or [names[0]]
    table, *other_tables = [tensors.take(name, size, config.d_model) for name in stored_names]
    for name, other_table in zip(stored_names[1:], other_tables, strict=True):
        if not torch.equal(table, other_table):
            raise SourceError(
                f"{tensors.path}: {name} differs from {stored_names[0]}, which is tied to it"
            )
    return table


def _positions(tensors: Tensors, theirs: str, stack: str, config: ModelConfig) -> dict[str, Tensor]:
    """Return a stack's table of learnt positions; if positions are computed, check a stored table."""
    name, width = f"{theirs}.embed_positions.weight", config.d_model
    tensors.ignore(f"{theirs}.embed_positions.weights", f"{theirs}.embed_positions._float_tensor")
    if config.positions == "stored":
        rows = config.position_offset + config.max_positions
        return {STORED[stack]: tensors.take(name, rows, width)[config.position_offset :]}
    if name in tensors:
        check_positions(tensors, name, tensors.take(name, config.max_positions, width), config)
    return {}


def check_positions(tensors: Tensors, name: str, stored: Tensor, config: ModelConfig) -> None:
    """Check that stored position encodings [P, d_model] equal the computed ones.

    Raises:
        SourceError: they differ.
    """
    error = float((stored - position_table(config)[: len(stored)]).abs().max())
    if error > MAX_POSITION_ERROR:
        raise SourceError(
            f"{tensors.path}: {name} differs by up to {error:.2g} from the sinusoids that the configuration "
            "describes; supported: these sinusoids"
        )

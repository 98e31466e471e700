"""Parameters by their names here, of fairseq's Transformer and of all that took its names over.

So did transformers' MarianMTModel and M2M100ForConditionalGeneration.
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
    """What is called differently in different libraries."""

    stacks: str
    """In front of the names of both stacks."""
    shared: str | None
    """The table of all, where it has a name of its own."""
    source: str
    target: str
    output: str
    bias: str | None
    """What is added to the logits."""


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
    """The network's parameters by their names here; `sizes` are those of the vocabularies.

    Raises:
        SourceError: one is missing, of another shape, or more than the configuration describes.
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
    """Embeddings and projection, in the bundle's order of ids."""
    (source, target), (size, target_size) = (side.arrangement for side in sides), sizes
    shared = [names.shared] if names.shared else []
    output = [names.output] * (config.embeddings != "separate")
    if config.embeddings == "shared":
        every = (*shared, names.source, names.target, *output)
        weights = {"embedding.weight": target.table(_one_of(tensors, size, config, *every))}
    else:
        read, written = (
            [own] if own in tensors or not shared or shared[0] not in tensors else shared
            for own in (names.source, names.target)
        )
        embedded = _one_of(tensors, target_size, config, *written, *output)
        weights = {
            "source_embedding.weight": source.table(_one_of(tensors, size, config, *read)),
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


def _one_of(tensors: Tensors, size: int, config: ModelConfig, *names: str) -> Tensor:
    """A table that is stored under one name or several.

    Raises:
        SourceError: it is stored twice, and differs.
    """
    there = [name for name in names if name in tensors] or [names[0]]
    first, *others = [tensors.take(name, size, config.d_model) for name in there]
    for name, other in zip(there[1:], others, strict=True):
        if not torch.equal(first, other):
            raise SourceError(
                f"{tensors.path}: {name} must be {there[0]}, which is tied to it, and differs"
            )
    return first


def _positions(tensors: Tensors, theirs: str, stack: str, config: ModelConfig) -> dict[str, Tensor]:
    """The table of a stack's positions, if they are learnt; if they are computed, none may differ."""
    name, width = f"{theirs}.embed_positions.weight", config.d_model
    tensors.ignore(f"{theirs}.embed_positions.weights", f"{theirs}.embed_positions._float_tensor")
    if config.positions == "stored":
        rows = config.position_offset + config.max_positions
        return {STORED[stack]: tensors.take(name, rows, width)[config.position_offset :]}
    if name in tensors:
        check_positions(tensors, name, tensors.take(name, config.max_positions, width), config)
    return {}


def check_positions(tensors: Tensors, name: str, stored: Tensor, config: ModelConfig) -> None:
    """Whether encodings that a file holds are those that are computed: [P, d_model].

    Raises:
        SourceError: they are others.
    """
    error = float((stored - position_table(config)[: len(stored)]).abs().max())
    if error > MAX_POSITION_ERROR:
        raise SourceError(
            f"{tensors.path}: {name} is up to {error:.2g} away from the sinusoids that the configuration "
            "describes, which are supported"
        )

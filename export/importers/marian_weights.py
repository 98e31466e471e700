"""Parameters of transformers' MarianMTModel and M2M100ForConditionalGeneration by their names here."""

import torch
from torch import Tensor

from export.importers.imported import Side, SourceError
from export.importers.settings import Settings
from export.importers.tensors import Tensors
from model.network_config import ModelConfig
from model.transformer import position_table
from service.models.bundle import MAX_VOCABULARY

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
TABLES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
_SHARED, _SOURCE, _TARGET, _OUTPUT = TABLES


def read_weights(
    tensors: Tensors, config: ModelConfig, settings: Settings, sides: tuple[Side, Side]
) -> dict[str, Tensor]:
    """The network's parameters by their names here.

    Raises:
        SourceError: one is missing, of another shape, or more than the configuration describes.
    """
    weights: dict[str, Tensor] = {}
    for stack, count, names in (
        ("encoder", config.num_encoder_layers, ENCODER_LAYER),
        ("decoder", config.num_decoder_layers, DECODER_LAYER),
    ):
        for layer in range(count):
            for theirs, ours in names.items():
                weights |= _module(
                    tensors,
                    f"model.{stack}.layers.{layer}.{theirs}",
                    f"{stack}.{layer}.{ours}",
                    config,
                )
        if config.norm == "pre":
            weights |= _module(tensors, f"model.{stack}.layer_norm", f"{stack}_norm", config)
    weights |= _tables(tensors, config, settings, sides)
    _check_positions(tensors, config)
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
    tensors: Tensors, config: ModelConfig, settings: Settings, sides: tuple[Side, Side]
) -> dict[str, Tensor]:
    """Embeddings and projection, in the bundle's order of ids."""
    source, target = (side.arrangement for side in sides)
    size = settings.number("vocab_size", 4, MAX_VOCABULARY)
    target_size = settings.number("decoder_vocab_size", 4, MAX_VOCABULARY, size)
    tied = config.embeddings != "separate"
    if config.embeddings == "shared":
        weights = {
            "embedding.weight": target.table(_one_of(tensors, size, config.d_model, *TABLES))
        }
    else:
        output = (_OUTPUT,) if tied else ()
        read, written = (
            [own] if own in tensors or _SHARED not in tensors else [_SHARED]
            for own in (_SOURCE, _TARGET)
        )
        embedded = _one_of(tensors, target_size, config.d_model, *written, *output)
        weights = {
            "source_embedding.weight": source.table(_one_of(tensors, size, config.d_model, *read)),
            "embedding.weight": target.table(embedded),
        }
        tensors.ignore(_SHARED)
    if not tied:
        projection = tensors.take(_OUTPUT, target_size, config.d_model)
        weights["projection.weight"] = target.table(projection)
    bias = torch.zeros(target_size)
    if "final_logits_bias" in tensors:
        bias = tensors.take("final_logits_bias", 1, target_size)[0]
    weights["projection_bias"] = target.bias(bias)
    return weights


def _one_of(tensors: Tensors, size: int, width: int, *names: str) -> Tensor:
    """A table that is stored under one name or several.

    Raises:
        SourceError: it is stored twice, and differs.
    """
    there = [name for name in names if name in tensors] or [names[0]]
    first, *others = [tensors.take(name, size, width) for name in there]
    for name, other in zip(there[1:], others, strict=True):
        if not torch.equal(first, other):
            raise SourceError(
                f"{tensors.path}: {name} must be {there[0]}, which is tied to it, and differs"
            )
    return first


def _check_positions(tensors: Tensors, config: ModelConfig) -> None:
    """Older folders store the positions' encodings; they must be those that are computed.

    Raises:
        SourceError: they are others.
    """
    for stack in ("encoder", "decoder"):
        tensors.ignore(f"model.{stack}.embed_positions.weights")  # M2M-100's, which nobody reads
        name = f"model.{stack}.embed_positions.weight"
        if name in tensors:
            stored = tensors.take(name, config.max_positions, config.d_model)
            error = float((stored - position_table(config)).abs().max())
            if error > MAX_POSITION_ERROR:
                raise SourceError(
                    f"{tensors.path}: {name} is up to {error:.2g} away from what is supported: sines, then "
                    "cosines, of the exponent i/T"
                )

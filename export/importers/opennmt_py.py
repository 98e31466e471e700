"""OpenNMT-py 3 checkpoints of Transformers, with their vocabularies; only tensors and options are read.

The network is pre-norm with a norm after each stack. A source has neither BOS nor EOS.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from export.importers.checkpoint import (
    checkpoint_of,
    has_checkpoint,
    options,
    read_checkpoint,
    settings_of,
)
from export.importers.ctranslate2_folder import sides_of
from export.importers.ctranslate2_vocabulary import Tokens, Vocabulary, vocabulary_of
from export.importers.fairseq_weights import check_positions
from export.importers.folder_parts import search_of
from export.importers.imported import Imported, Side, SourceError
from export.importers.languages import languages_of_name
from export.importers.model_card import licence_of
from export.importers.network_settings import MAX_SIZE, Size, SizeKeys, network_settings
from export.importers.segmentation import segmentation_of
from export.importers.settings import Settings
from export.importers.tables import tables_of
from export.importers.tensors import Tensors, load_tensors, tensors_of
from model.network_config import ModelConfig

FORMAT = "OpenNMT-py"
MAX_POSITIONS, STORED_POSITIONS, BEAM_SIZE = 1024, 5000, 5
UNK, BOS, EOS = "<unk>", "<s>", "</s>"
KEYS = SizeKeys(
    Size("enc_hid_size", same="dec_hid_size"),
    Size("transformer_ff", 2048),
    Size("heads", 8),
    Size("enc_layers"),
    Size("dec_layers"),
    "pos_ffn_activation_fn",
    "relu",
    {"relu": "relu", "gelu": "gelu"},
)
SUPPORTED: dict[str, tuple[object, ...]] = {
    "aan_useffn": (False,),
    "copy_attn": (False,),
    "decoder_type": ("transformer",),
    "encoder_type": ("transformer",),
    "generator_function": ("softmax",),
    "layer_norm": ("standard",),
    "lora_layers": ([],),
    "max_relative_positions": (0,),
    "model_task": ("seq2seq",),
    "multiquery": (False,),
    "n_src_feats": (0,),
    "num_experts": (0,),
    "num_kv": (0,),
    "parallel_residual": (False,),
    "position_encoding": (True,),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "shared_layer_norm": (False,),
    "sliding_window": (0,),
}
POSITIONS = {
    "SinusoidalInterleaved": {
        "position_layout": "interleaved",
        "position_exponent": "exclusive",
    },
    "SinusoidalConcat": {"position_layout": "halves", "position_exponent": "inclusive"},
}
ATTENTION = {
    "linear_query": "w_q",
    "linear_keys": "w_k",
    "linear_values": "w_v",
    "final_linear": "w_o",
}
STACKS = {
    "encoder": ("encoder.transformer", {"self_attn": "self_attention"}),
    "decoder": (
        "decoder.transformer_layers",
        {"self_attn": "self_attention", "context_attn": "cross_attention"},
    ),
}
NORMS = {
    "encoder": ("layer_norm", "feed_forward.layer_norm"),
    "decoder": ("layer_norm_1", "layer_norm_2", "feed_forward.layer_norm"),
}
TABLE, STORED = "embeddings.make_embedding.emb_luts.0.weight", "embeddings.make_embedding.pe.pe"


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format; formats with more specific checks are tried first."""
    return has_checkpoint(source)


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    path = checkpoint_of(source)
    checkpoint = read_checkpoint(path)
    settings = settings_of(path, "opt", options(path, "opt", checkpoint.get("opt")))
    settings.get("decoder_type", str)
    for option, supported in SUPPORTED.items():
        settings.refuse(option, *supported)
    vocabularies, start = _vocabularies(path, checkpoint)
    tokens = Tokens(UNK, BOS, EOS, start, begins_source=False, ends_source=False, adds_end=False)
    segmentation = segmentation_of(
        source, {vocabulary.path: vocabulary.ids for vocabulary in vocabularies}
    )
    sides = sides_of(vocabularies, tokens, segmentation.models)
    tensors = _tensors(path, checkpoint)
    sizes = vocabularies[0].size, vocabularies[1].size
    config, weights = _network(settings, tensors, sides, sizes)
    languages_by_side = languages_of_name(source.resolve().name)
    return Imported(
        format=FORMAT,
        config=config,
        weights=weights,
        source=sides[0],
        target=sides[1],
        max_length=MAX_POSITIONS // 2,
        decoding=search_of(BEAM_SIZE, 1.0),
        files=list(dict.fromkeys((path, tensors.path, *segmentation.models))),
        source_languages=languages_by_side[0],
        target_languages=languages_by_side[1],
        ends_source=False,
        moses=segmentation.moses,
        licence=licence_of(source),
    )


def _vocabularies(
    path: Path, checkpoint: dict[str, Any]
) -> tuple[tuple[Vocabulary, Vocabulary], str]:
    """Return the vocabularies of source and target, and the token that a translation begins with."""
    settings = Settings(
        path / "vocab", read=lambda _: dict(options(path, "vocab", checkpoint.get("vocab")))
    )
    start = settings.get("decoder_start_token", str, BOS)
    source_tokens, target_tokens = (settings.get(side, list) for side in ("src", "tgt"))
    source = vocabulary_of(path / "vocab.src", source_tokens, UNK)
    if source_tokens == target_tokens:
        return (source, source), start
    return (source, vocabulary_of(path / "vocab.tgt", target_tokens, UNK)), start


def _tensors(path: Path, checkpoint: dict[str, Any]) -> Tensors:
    """Return the weights, from the checkpoint or a safetensors file of the same name."""
    safetensors_path = path.with_suffix(".safetensors")
    if "model" not in checkpoint and safetensors_path.is_file():
        return Tensors(safetensors_path, load_tensors(safetensors_path))
    network, generator = (tensors_of(path, checkpoint.get(key)) for key in ("model", "generator"))
    return Tensors(
        path, {**network, **{f"generator.{key}": weight for key, weight in generator.items()}}
    )


def _network(
    settings: Settings, tensors: Tensors, sides: tuple[Side, Side], sizes: tuple[int, int]
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Return the network's configuration and parameters; `sizes` are the vocabularies' sizes."""
    width = settings.number("enc_hid_size", 1, MAX_SIZE)
    for side in ("src", "tgt"):
        settings.refuse(f"{side}_word_vec_size", width)
    settings.refuse("position_encoding_type", *POSITIONS)
    encoding = settings.get("position_encoding_type", str, "SinusoidalInterleaved")
    epsilon = settings.get("norm_eps", float, 1e-6)
    if not 0 < epsilon < 1:
        raise SourceError(f"{settings.path}: norm_eps = {epsilon}; supported: between 0 and 1")
    source_table = tensors.take(f"encoder.{TABLE}", sizes[0], width)
    target_table = tensors.take(f"decoder.{TABLE}", sizes[1], width)
    output = tensors.take("generator.weight", sizes[1], width)
    embeddings, weights = tables_of(sides, source_table, target_table, output)
    bias = tensors.take("generator.bias", sizes[1])
    weights["projection_bias"] = sides[1].arrangement.bias(bias)
    config = network_settings(
        settings,
        KEYS,
        vocab_size=len(sides[1].arrangement.order),
        norm="pre",
        layer_norm_epsilon=epsilon,
        embeddings=embeddings,
        max_positions=MAX_POSITIONS,
        **POSITIONS[encoding],
    )
    counts = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
    for stack, count in counts.items():
        for layer in range(count):
            weights |= dict(_layer(tensors, stack, layer, config))
        weights |= dict(_norm(tensors, f"{stack}.layer_norm", f"{stack}_norm", width))
        if (name := f"{stack}.{STORED}") in tensors:
            stored = tensors.take(name, STORED_POSITIONS, 1, width)[:MAX_POSITIONS, 0]
            check_positions(tensors, name, stored, config)
    tensors.check_all_taken()
    return config, weights


def _layer(
    tensors: Tensors, stack: str, layer: int, config: ModelConfig
) -> Iterator[tuple[str, Tensor]]:
    (prefix, attentions), width = STACKS[stack], config.d_model
    their_name, own_name = f"{prefix}.{layer}", f"{stack}.{layer}"
    for attention, own_attention in attentions.items():
        for name, part in ATTENTION.items():
            yield from _linear(
                tensors,
                f"{their_name}.{attention}.{name}",
                f"{own_name}.{own_attention}.{part}",
                width,
                width,
            )
    for name, rows, columns in (("w_1", config.d_ff, width), ("w_2", width, config.d_ff)):
        yield from _linear(
            tensors,
            f"{their_name}.feed_forward.{name}",
            f"{own_name}.feed_forward.{name}",
            rows,
            columns,
        )
    for number, name in enumerate(NORMS[stack], start=1):
        yield from _norm(tensors, f"{their_name}.{name}", f"{own_name}.norm_{number}", width)


def _linear(
    tensors: Tensors, theirs: str, ours: str, rows: int, columns: int
) -> Iterator[tuple[str, Tensor]]:
    """Yield a matrix and its bias, or zeros if the model has no biases."""
    yield f"{ours}.weight", tensors.take(f"{theirs}.weight", rows, columns)
    bias = f"{theirs}.bias"
    yield f"{ours}.bias", tensors.take(bias, rows) if bias in tensors else torch.zeros(rows)


def _norm(tensors: Tensors, theirs: str, ours: str, width: int) -> Iterator[tuple[str, Tensor]]:
    for part in ("weight", "bias"):
        yield f"{ours}.{part}", tensors.take(f"{theirs}.{part}", width)

"""fairseq checkpoints of Transformers with their dictionaries; only tensors and options are read, no code.

Position encodings are learnt, or sinusoids: all sines, then all cosines, with the exponent i/(T-1), starting
at position 2. A translation begins with `</s>`. Padding has a probability, but is never produced.
"""

import re
from pathlib import Path
from typing import Any

from export.importers.arrangement import Arrangement
from export.importers.checkpoint import (
    checkpoint_of,
    has_checkpoint,
    options,
    read_checkpoint,
    settings_of,
)
from export.importers.fairseq_weights import FAIRSEQ, read_weights
from export.importers.folder_parts import search_of
from export.importers.imported import Imported, Side, SourceError
from export.importers.model_card import licence_of
from export.importers.network_settings import Size, SizeKeys, network_settings
from export.importers.segmentation import segmentation_of
from export.importers.settings import Settings, read_small, shown
from export.importers.tensors import Tensors, tensors_of
from model.network_config import ModelConfig
from model.tokenizer import PAD_ID
from service.models.bundle import MAX_VOCABULARY

FORMAT = "fairseq"
DICTIONARIES = "dict.*.txt"
LANGUAGE = re.compile(r"[\w-]{1,32}")
SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
FIRST_POSITION = 2
MAX_TOKENS, MAX_POSITIONS, BEAM_SIZE = 512, 65_536, 5
KEYS = SizeKeys(
    Size("encoder_embed_dim", 512, same="decoder_embed_dim"),
    Size("encoder_ffn_embed_dim", 2048, same="decoder_ffn_embed_dim"),
    Size("encoder_attention_heads", 8, same="decoder_attention_heads"),
    Size("encoder_layers", 6),
    Size("decoder_layers", 6),
    "activation_fn",
    "relu",
    {"relu": "relu", "gelu": "gelu", "gelu_accurate": "gelu_tanh", "gelu_fast": "gelu_tanh"},
)
SUPPORTED: dict[str, tuple[object, ...]] = {
    "adaptive_input": (False,),
    "adaptive_softmax_cutoff": (),
    "char_inputs": (False,),
    "cross_self_attention": (False,),
    "decoder_langtok": (False,),
    "decoder_layers_to_keep": (),
    "encoder_langtok": (),
    "encoder_layers_to_keep": (),
    "layernorm_embedding": (False,),
    "merge_src_tgt_embed": (False,),
    "no_cross_attention": (False,),
    "no_decoder_final_norm": (False,),
    "no_token_positional_embeddings": (False,),
    "task": ("translation",),
}


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format."""
    return has_checkpoint(source) and any(source.glob(DICTIONARIES))


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    path = checkpoint_of(source)
    checkpoint = read_checkpoint(path)
    settings = _settings(path, checkpoint)
    languages = [_language(settings, f"{side}_lang") for side in ("source", "target")]
    dictionaries = [source / f"dict.{language}.txt" for language in languages]
    ids = [_read_dictionary(dictionary) for dictionary in dictionaries]
    segmentation = segmentation_of(source, dict(zip(dictionaries, ids, strict=True)), languages)
    sides = _sides(ids, segmentation.models)
    config = _config(settings, sides)
    tensors = Tensors(path, tensors_of(path, checkpoint.get("model")))
    tensors.ignore("encoder.version", "decoder.version")
    sizes = len(sides[0].ids), len(sides[1].ids)
    return Imported(
        format=FORMAT,
        config=config,
        weights=read_weights(tensors, config, sides, sizes, FAIRSEQ),
        source=sides[0],
        target=sides[1],
        max_length=min(MAX_TOKENS, config.max_positions),
        decoding=search_of(BEAM_SIZE, 1.0),
        files=list(dict.fromkeys((path, *dictionaries, *segmentation.models))),
        source_languages=languages[:1],
        target_languages=languages[1:],
        moses=segmentation.moses,
        licence=licence_of(source),
    )


def _language(settings: Settings, key: str) -> str:
    """Return a language code that is valid as a part of file names."""
    language = settings.get(key, str)
    if not LANGUAGE.fullmatch(language):
        raise SourceError(
            f"{settings.path}: {key} = {shown(language)}; supported: up to 32 letters, digits, - and _"
        )
    return language


def _settings(path: Path, checkpoint: dict[str, Any]) -> Settings:
    """Return the options of network and task, stored as `args`, or as `cfg` by newer versions."""
    if checkpoint.get("args") is not None:
        key, values = "args", dict(options(path, "args", checkpoint["args"]))
    else:
        key, config = "cfg", options(path, "cfg", checkpoint.get("cfg"))
        values = {}
        for section in ("task", "model"):
            section_options = options(path, f"cfg.{section}", config.get(section))
            values |= {name: value for name, value in section_options.items() if value is not None}
    settings = settings_of(path, key, values)
    name = settings.get("arch", str, values.get("_name"))
    if not name.startswith("transformer") or "_lm" in name:
        raise SourceError(
            f"{settings.path}: arch = {shown(name)}; supported: transformer, transformer_*"
        )
    for option, supported in SUPPORTED.items():
        settings.refuse(option, *supported)
    return settings


def _sides(ids: list[dict[str, int]], models: tuple[Path, Path]) -> tuple[Side, Side]:
    """Return both sides with their arrangements, padded to the size of the larger one."""
    size = max(map(len, ids)) + 1  # BOS has an id of its own
    pad, eos, unk = (SPECIAL[name] for name in ("<pad>", "</s>", "<unk>"))
    sides = [
        Side(
            model,
            ids_of_side,
            Arrangement.of(len(ids_of_side), pad, unk, eos, start=eos).padded(size),
        )
        for model, ids_of_side in zip(models, ids, strict=True)
    ]
    return sides[0], sides[1]


def _read_dictionary(path: Path) -> dict[str, int]:
    """Read a dictionary with a token and its count in each line; fairseq's special tokens come first."""
    try:
        lines = read_small(path).decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: cannot be read: {error}") from None
    ids = dict(SPECIAL)
    for number, line in enumerate(lines, start=1):
        token, _, count = line.rstrip().rpartition(" ")
        if not (token and count.isdecimal()):
            raise SourceError(f"{path}: line {number}: {shown(line[:80])}; supported: token count")
        if token in ids:
            raise SourceError(f"{path}: line {number}: {shown(token)} occurs twice")
        ids[token] = len(ids)
    if len(ids) >= MAX_VOCABULARY:
        raise SourceError(f"{path}: has {len(lines)} tokens; supported: up to {MAX_VOCABULARY - 5}")
    return ids


def _config(settings: Settings, sides: tuple[Side, Side]) -> ModelConfig:
    """Return the network's configuration."""

    def of_both(option: str) -> bool:
        value = settings.get(f"encoder_{option}", bool, False)
        if settings.get(f"decoder_{option}", bool, False) != value:
            raise SourceError(
                f"{settings.path}: decoder_{option} = {not value}; supported: the encoder's, {value}"
            )
        return value

    shares_all = settings.get("share_all_embeddings", bool, False)
    if shares_all and sides[0].ids != sides[1].ids:
        raise SourceError(
            f"{settings.path}: share_all_embeddings = True with two different dictionaries; supported: equal "
            "ones"
        )
    is_tied = settings.get("share_decoder_input_output_embed", bool, False)
    embeddings = "target" if is_tied else "separate"
    if shares_all:
        embeddings = "shared"
    is_learnt = of_both("learned_pos")
    positions = settings.number("max_source_positions", 64, MAX_POSITIONS, 1024)
    if is_learnt:
        settings.refuse("max_target_positions", positions)
    return network_settings(
        settings,
        KEYS,
        vocab_size=len(sides[1].arrangement.order),
        norm="pre" if of_both("normalize_before") else "post",
        embeddings=embeddings,
        max_positions=positions if is_learnt else min(positions, 2 * MAX_TOKENS),
        positions="stored" if is_learnt else "sinusoids",
        position_layout="halves",
        position_exponent="inclusive",
        position_offset=FIRST_POSITION,
        scaled_embeddings=not settings.get("no_scale_embedding", bool, False),
        forbidden_ids=(PAD_ID,),
    )

"""Hugging Face's folders of Marian models, such as those of OPUS-MT.

The results match those of transformers. Its MarianMTModel is post-norm without a norm of the embeddings. Its
position encodings have all sines before all cosines, with the exponent i/T. Translations begin with padding,
whose vector is zero. Padding has a logit, but is never produced.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from export.importers.arrangement import Arrangement
from export.importers.fairseq_weights import HUGGING_FACE, read_weights
from export.importers.folder_parts import (
    has_model_type,
    read_ids,
    tags_among,
)
from export.importers.imported import Imported, Side, SourceError
from export.importers.languages import codes_in, first_known, languages_of_name
from export.importers.model_card import licence_of, stated_languages
from export.importers.network_settings import (
    TRANSFORMERS,
    decoding_defaults,
    network_settings,
)
from export.importers.segmentation import sentencepiece_model
from export.importers.settings import Settings, shown
from export.importers.tensors import Tensors
from export.importers.transformers_oracle import marian_oracle
from model.network_config import ModelConfig
from model.tokenizer import PAD_ID
from service.models.bundle import MAX_LENGTH, MAX_VOCABULARY

FORMAT = "Hugging Face Marian"
MODEL_TYPE = "marian"
MIN_POSITIONS = 64


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format."""
    return has_model_type(source, MODEL_TYPE)


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    settings = Settings(source / "generation_config.json", source / "config.json")
    _refuse_unsupported(settings)
    sides = _sides(source, settings)
    config = _config(settings, sides)
    tensors = Tensors.of_folder(source)
    weights = read_weights(tensors, config, sides, _sizes(settings), HUGGING_FACE)
    tokenizer = Settings(source / "tokenizer_config.json", source / "config.json")
    names = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json")
    optional_names = ("target_vocab.json", "source.spm", "target.spm", tensors.path.name)
    stated_codes = [tokenizer.get(key, str, "") for key in ("source_lang", "target_lang")]
    # in some folders, the source "language" is the beginning of the model's name
    of_name = languages_of_name("-".join(stated_codes)), languages_of_name(source.resolve().name)
    languages_by_side = [
        first_known(of_name[0][side], codes_in(stated_codes[side]), of_name[1][side], in_card)
        for side, in_card in enumerate(stated_languages(source))
    ]
    return Imported(
        format=FORMAT,
        config=config,
        weights=weights,
        source=sides[0],
        target=sides[1],
        max_length=min(settings.number("max_length", 8, MAX_LENGTH, 512), config.max_positions),
        decoding=decoding_defaults(settings),
        files=[path for name in (*names, *optional_names) if (path := source / name).exists()],
        source_languages=languages_by_side[0],
        target_languages=languages_by_side[1],
        tags=tags_among(sides[0].ids),
        suppressed=_forbidden(settings, sides[1]) if _renormalizes(settings) else (),
        licence=licence_of(source),
        oracle=partial(marian_oracle, source),
    )


def _refuse_unsupported(settings: Settings) -> None:
    """Refuse variants that transformers itself does not compute, or that change the search.

    Raises:
        SourceError: the model is such a variant.
    """
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        settings.refuse(key, False)
    settings.refuse("static_position_embeddings", True)
    for key in ("forced_bos_token_id", "suppress_tokens", "begin_suppress_tokens"):
        settings.refuse(key)
    settings.refuse("architectures", ["MarianMTModel"], ["MarianModel"])


def _sizes(settings: Settings) -> tuple[int, int]:
    """Return the sizes of the source's and the target's vocabulary."""
    size = settings.number("vocab_size", 4, MAX_VOCABULARY - 1)
    return size, settings.number("decoder_vocab_size", 4, MAX_VOCABULARY - 1, size)


def _sides(source: Path, settings: Settings) -> tuple[Side, Side]:
    """Return both sides with their arrangements, padded to the size of the larger one."""
    size, target_size = _sizes(settings)
    pad = Settings(source / "config.json").number("pad_token_id", 0, target_size - 1)
    start = settings.number("decoder_start_token_id", 0, target_size - 1)
    eos = settings.number("eos_token_id", 0, target_size - 1)
    ids = read_ids(source / "vocab.json", size)
    if _has_one_vocabulary(source, settings):
        if size != target_size:
            raise SourceError(
                f"{settings.path}: decoder_vocab_size = {target_size}; supported: vocab_size, {size}, "
                "as both sides share one vocabulary"
            )
        arrangement = _arrangement(source / "vocab.json", ids, size, pad, eos, start)
        return (
            Side(sentencepiece_model(source / "source.spm"), ids, arrangement),
            Side(sentencepiece_model(source / "target.spm"), ids, arrangement),
        )
    path = source / "target_vocab.json"
    target_ids = read_ids(path, target_size)
    source_pad, source_eos = ids.get("<pad>", pad), ids.get("</s>", eos)
    source_arrangement = _arrangement(
        source / "vocab.json", ids, size, source_pad, source_eos, source_pad
    )
    target_arrangement = _arrangement(path, target_ids, target_size, pad, eos, start)
    padded_size = max(len(source_arrangement.order), len(target_arrangement.order))
    return (
        Side(
            sentencepiece_model(source / "source.spm"), ids, source_arrangement.padded(padded_size)
        ),
        Side(
            sentencepiece_model(source / "target.spm"),
            target_ids,
            target_arrangement.padded(padded_size),
        ),
    )


def _has_one_vocabulary(source: Path, settings: Settings) -> bool:
    return (
        settings.get("share_encoder_decoder_embeddings", bool, True)
        or not (source / "target_vocab.json").exists()
    )


def _arrangement(
    path: Path, ids: Mapping[str, int], size: int, pad: int, eos: int, start: int
) -> Arrangement:
    if ids.get("</s>", eos) != eos:
        raise SourceError(f"{path}: </s> = {ids['</s>']}; supported: eos_token_id, {eos}")
    if "<unk>" not in ids:
        raise SourceError(f"{path}: has no <unk>")
    if len({pad, eos, ids["<unk>"]}) < 3:
        raise SourceError(
            f"{path}: padding, </s> and <unk> must have different ids: {pad}, {eos}, {ids['<unk>']}"
        )
    return Arrangement.of(size, pad, ids["<unk>"], eos, start)


def _config(settings: Settings, sides: tuple[Side, Side]) -> ModelConfig:
    """Return the network's configuration."""
    is_one_table = settings.get("share_encoder_decoder_embeddings", bool, True)
    embeddings = "shared" if is_one_table else "target"
    if not settings.get("tie_word_embeddings", bool, True):
        embeddings = "separate"
    return network_settings(
        settings,
        TRANSFORMERS,
        position_layout="halves",
        scaled_embeddings=settings.get("scale_embedding", bool, False),
        vocab_size=len(sides[1].arrangement.order),
        norm="post",
        embeddings=embeddings,
        max_positions=settings.number("max_position_embeddings", MIN_POSITIONS, MAX_LENGTH),
        forbidden_ids=() if _renormalizes(settings) else _forbidden(settings, sides[1]),
    )


def _forbidden(settings: Settings, target: Side) -> tuple[int, ...]:
    """Return the bundle's ids of tokens that must not be produced: padding and single-token `bad_words_ids`.

    Raises:
        SourceError: `bad_words_ids` has anything but lists of one token.
    """
    forbidden: list[int] = []
    for words in settings.get("bad_words_ids", list, []):
        if not (
            isinstance(words, list) and len(words) == 1 and words[0] in target.arrangement.place
        ):
            raise SourceError(
                f"{settings.path}: bad_words_ids has {shown(words)}; supported: lists of one token each"
            )
        forbidden += words
    return tuple(sorted({PAD_ID, *target.arrangement.to_bundle(forbidden)}))


def _renormalizes(settings: Settings) -> bool:
    """Check whether the probability of forbidden tokens is redistributed to the others."""
    return settings.get("renormalize_logits", bool, False)

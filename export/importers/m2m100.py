"""Hugging Face's folders of M2M-100 and NLLB-200: one network for a hundred or two hundred languages.

The network is pre-norm with a norm after each stack, has one shared embedding table, and counts positions
from 2. A source begins with the token of its language, and so does a translation. SMaLL-100 has such a
network, too, but its sources begin with the token of the target language, and its translations with none.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from export.importers.arrangement import Arrangement
from export.importers.fairseq_weights import HUGGING_FACE, read_weights
from export.importers.folder_parts import (
    LANGUAGE,
    as_small100,
    check_ids,
    has_model_type,
    is_small100,
    languages_among,
    read_ids,
)
from export.importers.imported import Imported, Side, SourceError
from export.importers.model_card import licence_of
from export.importers.network_settings import (
    TRANSFORMERS,
    decoding_defaults,
    network_settings,
)
from export.importers.segmentation import load_sentencepiece
from export.importers.settings import Settings, read_json
from export.importers.tensors import Tensors
from export.importers.transformers_oracle import m2m100_oracle
from model.network_config import ModelConfig
from model.tokenizer import PAD_ID
from service.models.bundle import MAX_LENGTH, MAX_VOCABULARY

FORMAT = "Hugging Face M2M-100 (NLLB)"
MODEL_TYPE = "m2m_100"
MODEL = "sentencepiece.bpe.model"
VOCABULARY, TOKENIZER = "vocab.json", "tokenizer.json"
TOKEN_LISTS = "special_tokens_map.json", "tokenizer_config.json"
FAIRSEQ_FIRST = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
OFFSET = 1
"""Difference between NLLB's ids and SentencePiece's."""
FIRST_POSITION = 2
MAX_POSITIONS = 512
"""The models were not trained with more positions."""


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format."""
    return has_model_type(source, MODEL_TYPE)


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    settings = Settings(source / "generation_config.json", source / "config.json")
    for key in ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids"):
        settings.refuse(key)
    settings.refuse("architectures", ["M2M100ForConditionalGeneration"], ["M2M100Model"])
    for key in ("tie_word_embeddings", "share_encoder_decoder_embeddings"):
        settings.refuse(key, True)
    tokenizer = Settings(source / "tokenizer_config.json", source / "config.json")
    tokenizer.refuse("legacy_behaviour", False)
    side, languages = _side(source, settings)
    config = _config(settings, side)
    tensors = Tensors.of_folder(source)
    sizes = (settings.number("vocab_size", 4, MAX_VOCABULARY - 1),) * 2
    weights = read_weights(tensors, config, (side, side), sizes, HUGGING_FACE)
    names = ("config.json", "generation_config.json", *TOKEN_LISTS, TOKENIZER, VOCABULARY, MODEL)
    longest = settings.number("max_length", 8, MAX_LENGTH, config.max_positions)
    has_small100 = is_small100(source)
    imported = Imported(
        format=FORMAT,
        config=config,
        weights=weights,
        source=side,
        target=side,
        max_length=min(longest, config.max_positions - 1),
        decoding=decoding_defaults(settings),
        files=[path for name in (*names, tensors.path.name) if (path := source / name).exists()],
        languages=languages,
        licence=licence_of(source, languages),
        oracle=partial(
            m2m100_oracle, source, "M2M100Tokenizer" if has_small100 else "AutoTokenizer"
        ),
    )
    return as_small100(imported) if has_small100 else imported


def _side(source: Path, settings: Settings) -> tuple[Side, dict[str, str]]:
    """Return the vocabulary, and the language tokens by code."""
    size = settings.number("vocab_size", 4, MAX_VOCABULARY - 1)
    model, path = source / MODEL, source / VOCABULARY
    processor = load_sentencepiece(model)
    ids = read_ids(path, size) if path.exists() else _fairseq_ids(processor)
    ids |= _added_tokens(source, ids, size)
    check_ids(source, ids, size, f"vocab_size, {size}")
    languages = languages_among(ids)
    if len(languages) < 2:
        raise SourceError(
            f"{source}: {', '.join(TOKEN_LISTS)} and {TOKENIZER} have no language tokens, such as deu_Latn "
            "or __de__"
        )
    pad, eos = (settings.number(f"{name}_token_id", 0, size - 1) for name in ("pad", "eos"))
    start = settings.number("decoder_start_token_id", 0, size - 1, eos)
    if missing := {"<unk>", "</s>"} - ids.keys():
        raise SourceError(f"{source}: the vocabulary has no {min(missing)}")
    if ids["</s>"] != eos or len({pad, eos, ids["<unk>"]}) < 3:
        raise SourceError(
            f"{settings.path}: eos_token_id = {eos}, pad_token_id = {pad}; supported: the id of </s>, "
            f"{ids['</s>']}, and another id"
        )
    return Side(model, ids, Arrangement.of(size, pad, ids["<unk>"], eos, start)), languages


def _fairseq_ids(processor: SentencePieceProcessor) -> dict[str, int]:
    """Return NLLB's ids: fairseq's special tokens, then SentencePiece's pieces, shifted by `OFFSET`."""
    pieces = (processor.id_to_piece(id) for id in range(processor.vocab_size()))
    moved = {piece: id + OFFSET for id, piece in enumerate(pieces)}
    return moved | FAIRSEQ_FIRST


def _added_tokens(source: Path, ids: Mapping[str, int], size: int) -> dict[str, int]:
    """Return the ids of added tokens, which are listed with their ids, or in order after the pieces."""
    if (path := source / TOKENIZER).exists():
        added = read_json(path).get("added_tokens")
        entries = added if isinstance(added, list) else []
        pairs = (
            (entry.get("content"), entry.get("id")) for entry in entries if type(entry) is dict
        )
        return {piece: id for piece, id in pairs if type(piece) is str and type(id) is int}
    for path in (source / name for name in TOKEN_LISTS):
        config = read_json(path) if path.exists() else {}
        added_pieces = config.get("additional_special_tokens") or config.get("extra_special_tokens")
        if isinstance(added_pieces, list) and all(isinstance(piece, str) for piece in added_pieces):
            tokens = [piece for piece in added_pieces if LANGUAGE.fullmatch(piece)]
            first_id = max(ids.values()) + 1
            return {
                piece: first_id + index
                for index, piece in enumerate(tokens)
                if first_id + index < size
            }
    return {}


def _config(settings: Settings, side: Side) -> ModelConfig:
    """Return the network's configuration."""
    return network_settings(
        settings,
        TRANSFORMERS,
        position_layout="halves",
        scaled_embeddings=settings.get("scale_embedding", bool, False),
        vocab_size=len(side.arrangement.order),
        norm="pre",
        embeddings="shared",
        max_positions=min(
            MAX_POSITIONS, settings.number("max_position_embeddings", 64, MAX_LENGTH, MAX_POSITIONS)
        ),
        position_exponent="inclusive",
        position_offset=FIRST_POSITION,
        forbidden_ids=(PAD_ID,),
    )

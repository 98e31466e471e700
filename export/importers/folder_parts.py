"""Parts that several formats have in common: pieces and ids, language codes, tags."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from export.importers.imported import Imported, SourceError
from export.importers.settings import Settings, read_json, shown
from service.engine.types import LengthNorm, StopRule
from service.models.bundle import DecodingDefaults

TAG = re.compile(r">>(.+)<<")
"""A piece at the beginning of a source that names the target language."""
LANGUAGE = re.compile(r"([a-z]{3}_[A-Z][a-z]{3})|__([a-z]{2,3})__")
"""A language token of NLLB or M2M-100."""
TOKENIZER_CONFIGS = "tokenizer_config.json", "config.json"
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_LENGTH_PENALTY = 10.0


def has_model_type(source: Path, model_type: str) -> bool:
    """Check whether this is a folder of transformers with this model type."""
    path = source / "config.json"
    return path.is_file() and read_json(path).get("model_type") == model_type


def read_ids(path: Path, size: int) -> dict[str, int]:
    """Read the ids of a vocabulary's pieces from a file of transformers.

    Raises:
        SourceError: an id is invalid, or two pieces have the same id.
    """
    ids = read_json(path)
    check_ids(path, ids, size, f"vocab_size, {size}")
    return ids


def check_ids(path: Path, ids: Mapping[str, Any], size: int, limit: str) -> None:
    """Check that the ids of pieces are unique and below `size`, which error messages call `limit`.

    Raises:
        SourceError: an id is invalid, two pieces have the same id, or a piece is not valid Unicode.
    """
    check_text(path, ids)
    pieces_by_id: dict[int, str] = {}
    for piece, id in ids.items():
        if type(id) is not int or not 0 <= id < size:
            raise SourceError(f"{path}: {shown(piece)} = {shown(id)}; supported: ids below {limit}")
        if id in pieces_by_id:
            raise SourceError(
                f"{path}: {shown(piece)} and {shown(pieces_by_id[id])} have the same id, {id}"
            )
        pieces_by_id[id] = piece


def check_text(path: Path, pieces: Iterable[str]) -> None:
    """Check that pieces have no unpaired surrogates, which JSON and pickles allow, but UTF-8 does not.

    Raises:
        SourceError: a piece has one.
    """
    for piece in pieces:
        if not piece.isascii() and SURROGATE.search(piece):
            raise SourceError(
                f"{path}: {shown(piece)} has half of a surrogate pair; supported: pieces in Unicode"
            )


def languages_among(pieces: Iterable[str]) -> dict[str, str]:
    """Return the language tokens among pieces, by code.

    >>> languages_among(["deu_Latn", "__pt__", "d"])
    {'deu_Latn': 'deu_Latn', 'pt': '__pt__'}
    """
    matches = ((piece, LANGUAGE.fullmatch(piece)) for piece in pieces)
    return {match[1] or match[2]: piece for piece, match in matches if match}


def tags_among(pieces: Iterable[str]) -> dict[str, str]:
    """Return the tags among pieces, by the code of the target language.

    >>> tags_among([">>deu<<", "d"])
    {'deu': '>>deu<<'}
    """
    matches = ((piece, TAG.fullmatch(piece)) for piece in pieces)
    return {match[1]: piece for piece, match in matches if match}


def is_small100(folder: Path) -> bool:
    """Check whether this is SMaLL-100, or a model tuned from it, by its tokenizer or its name.

    It has the network and the vocabulary of M2M-100, but its sources begin with the token of the target
    language, and its translations with none.
    """
    paths = [path for name in TOKENIZER_CONFIGS if (path := folder / name).is_file()]
    classes = [Settings(path).get("tokenizer_class", str, "") for path in paths]
    names = *classes, folder.resolve().name
    has_tokenizer = (folder / "tokenization_small100.py").exists()
    return has_tokenizer or any("small100" in name.lower().replace("-", "") for name in names)


def as_small100(imported: Imported) -> Imported:
    """Return a model of many languages as one whose sources begin with the token of the target language."""
    tokens = imported.languages
    return replace(imported, tags=tokens, languages={}, source_languages=list(tokens))


def search_of(
    beam_size: int, exponent: float, stop_rule: StopRule = StopRule.FIRST
) -> DecodingDefaults:
    """Return the search options of a library that divides scores by length^exponent."""
    return DecodingDefaults(
        beam_size=beam_size,
        length_penalty=max(-MAX_LENGTH_PENALTY, min(MAX_LENGTH_PENALTY, exponent)),
        length_norm=LengthNorm.POWER,
        stop_rule=stop_rule,
    )

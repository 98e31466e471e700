"""The vocabularies of a CTranslate2 folder, and their special tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from export.importers.ctranslate2_variables import Variables
from export.importers.folder_parts import check_text
from export.importers.imported import SourceError
from export.importers.settings import Settings, parse_json, read_json, read_small, shown
from service.models.bundle import MAX_VOCABULARY

CONFIG = "config.json"
VOCABULARIES = "shared_vocabulary", "source_vocabulary", "target_vocabulary"
KINDS = "json", "txt"
CONTROLS = {"<s>", "</s>", "<unk>", "<pad>", "<blank>"}
"""Tokens that do not occur in text, in addition to those that the configuration names."""
FIRST_WITH_CONFIG = 6
"""Version of the weights file; earlier ones have the settings of `config.json` themselves."""


class Tokens(NamedTuple):
    """The special tokens named in `config.json`."""

    unk: str
    bos: str
    eos: str
    start: str
    """The token that the decoder begins with."""
    begins_source: bool
    """Whether every source begins with BOS."""
    ends_source: bool
    """Whether every source ends with EOS."""
    adds_end: bool
    """Whether CTranslate2 adds this EOS itself."""
    epsilon: float = 1e-5
    """The epsilon of LayerNorm, which `config.json` has too."""


def read_tokens(folder: Path, variables: Variables) -> Tokens:
    """Read the special tokens of a folder; the defaults are CTranslate2's.

    Raises:
        SourceError: a setting is invalid or not supported.
    """
    path = folder / CONFIG
    config: dict[str, Any] = read_json(path) if path.exists() else {}
    if variables.version < FIRST_WITH_CONFIG:
        path, config = variables.path, config | _flags(variables)
    if config.get("quantization_type"):
        quantization = config["quantization_type"]
        raise SourceError(
            f"{path}: quantization_type = {shown(quantization)}; supported: int8, int16, float16"
        )
    setting = Settings(path, read=lambda _: config).get
    start = config.get("decoder_start_token", "<s>")
    if not isinstance(start, str):
        raise SourceError(
            f"{path}: decoder_start_token = {json.dumps(start)}, so the caller must choose the "
            "first token; supported: a token of the vocabulary"
        )
    epsilon = setting("layer_norm_epsilon", float, 1e-5)
    if not 0 < epsilon < 1:
        raise SourceError(f"{path}: layer_norm_epsilon = {epsilon}; supported: between 0 and 1")
    eos = setting("eos_token", str, "</s>")
    # a decoder that begins with EOS is fairseq's or Marian's: their sources end with EOS, whatever adds it
    begins_source, ends_source = (
        setting("add_source_bos", bool, False),
        setting("add_source_eos", bool, False),
    )
    unk, bos = setting("unk_token", str, "<unk>"), setting("bos_token", str, "<s>")
    return Tokens(
        unk, bos, eos, start, begins_source, ends_source or start == eos, ends_source, epsilon
    )


def _flags(variables: Variables) -> dict[str, Any]:
    """Return the settings in an older weights file, by their keys in `config.json`."""
    flags = variables.scalars
    if flags.get("user_decoder_start_tokens", 0):
        start = None
    else:
        start = "<s>" if flags.get("with_target_bos", 1) else "</s>"
    return {
        "add_source_bos": bool(flags.get("with_source_bos", 0)),
        "add_source_eos": bool(flags.get("with_source_eos", 0)),
        "decoder_start_token": start,
    }


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one side."""

    path: Path
    ids: Mapping[str, int]
    """Ids by token; the first one if a token has several."""
    size: int

    def id_of(self, token: str, role: str) -> int:
        """Return the id of a token.

        Raises:
            SourceError: the vocabulary does not have it; the message calls it `role`.
        """
        if token not in self.ids:
            raise SourceError(f"{self.path}: has no {token}, which is the {role}")
        return self.ids[token]

    def pieces(self, tokens: Tokens) -> dict[str, int]:
        """Return the ids of the tokens that are pieces of text or tags."""
        controls = CONTROLS | {tokens.unk, tokens.bos, tokens.eos}
        return {token: id for token, id in self.ids.items() if token and token not in controls}


def read_vocabularies(folder: Path, unk: str) -> tuple[Vocabulary, Vocabulary]:
    """Read the vocabularies of source and target; a shared one is returned twice.

    Raises:
        SourceError: a vocabulary is missing or broken.
    """
    shared, *sides = (_find(folder, name) for name in VOCABULARIES)
    if shared is not None:
        vocabulary = _read(shared, unk)
        return vocabulary, vocabulary
    source, target = sides
    if source is None or target is None:
        missing = VOCABULARIES[1 if source is None else 2]
        raise SourceError(
            f"{folder}: has neither {VOCABULARIES[0]}.json nor {missing}.json; supported: one vocabulary, or "
            "one for each side"
        )
    return _read(source, unk), _read(target, unk)


def _find(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}.{kind}" for kind in KINDS)
    return next(filter(Path.is_file, paths), None)


def _read(path: Path, unk: str) -> Vocabulary:
    text = read_small(path)
    if path.suffix == ".json":
        return vocabulary_of(path, parse_json(path, text), unk)
    try:
        return vocabulary_of(path, _lines(text.decode()), unk)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: cannot be read: {error}") from None


def vocabulary_of(path: Path, tokens: object, unk: str) -> Vocabulary:
    """Return the vocabulary of a list of tokens, read from a file, in the order of their ids.

    Raises:
        SourceError: it is not a list of tokens, or is too short or too long.
    """
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise SourceError(f"{path}: is not a list of tokens")
    if not 4 <= len(tokens) < MAX_VOCABULARY:
        raise SourceError(f"{path}: has {len(tokens)} tokens; supported: 4 to {MAX_VOCABULARY - 1}")
    check_text(path, tokens)
    ids: dict[str, int] = {}
    for id, token in enumerate(tokens):
        ids.setdefault(token, id)
    ids.setdefault(unk, len(tokens))
    return Vocabulary(path, ids, max(len(tokens), ids[unk] + 1))


def _lines(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    if all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines

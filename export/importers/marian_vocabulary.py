"""Marian's vocabularies: lines of `piece: id`, lines of pieces, or a SentencePiece model."""

import re
from collections.abc import Mapping
from pathlib import Path

from export.importers.arrangement import Arrangement
from export.importers.folder_parts import check_ids
from export.importers.imported import Side, SourceError
from export.importers.segmentation import load_sentencepiece
from export.importers.settings import parse_json, read_small, shown

LINE = re.compile(r"(.*[^ ]) *: +(\d{1,9}) *,?")
ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"  # \xE4, \u00e4, \U0001f600
    r"|(.))"
)
ESCAPED = dict(zip("0abtnvfre_NLP", "\0\a\b\t\n\v\f\r\x1b\xa0\x85\u2028\u2029", strict=True))
"""YAML's single-letter escapes; any other letter stands for itself."""


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read the ids of a vocabulary's pieces.

    Raises:
        SourceError: the file is missing, broken, or of an unsupported kind.
    """
    if path.suffix == ".fsv":
        raise SourceError(f"{path}: factored vocabularies are not supported")
    if path.suffix == ".spm":
        return _ids_of_sentencepiece(path)
    if path.suffix in (".yml", ".yaml", ".json"):
        return _parse(path)
    lines = _read(path).removesuffix("\n").split("\n")
    return {line.rstrip("\r"): id for id, line in enumerate(lines)}


def side_of(path: Path, ids: Mapping[str, int], model: Path, size: int) -> Side:
    """Return the side of a vocabulary with the tokenizer `model`.

    Raises:
        SourceError: a special piece is missing, or an id is invalid for a table of `size` rows.
    """
    check_ids(path, ids, size, f"rows of the table, {size}")
    for piece in ("</s>", "<unk>"):
        if piece not in ids:
            raise SourceError(f"{path}: has no {piece}")
    arrangement = Arrangement.of(size, ids.get("<pad>"), ids["<unk>"], ids["</s>"], None)
    return Side(model, ids, arrangement)


def _read(path: Path) -> str:
    try:
        return read_small(path).decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not UTF-8") from None


def _parse(path: Path) -> dict[str, int]:
    """Parse JSON, or lines of `piece: id`, which are not always valid YAML."""
    text = _read(path)
    if text.lstrip().startswith("{"):
        ids: dict[str, int] = parse_json(path, text.encode())
        return ids
    ids = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line.rstrip("\r"))
        if match is None:
            raise SourceError(f"{path}: line {number}: {shown(line[:80])}; supported: piece: id")
        piece = _unquoted(match[1])
        if piece in ids:
            raise SourceError(f"{path}: line {number}: {shown(piece)} occurs twice")
        ids[piece] = int(match[2])
    return ids


def _unquoted(piece: str) -> str:
    r"""Remove YAML's quotes and escapes from a piece.

    >>> [_unquoted(piece) for piece in ("the", "'it''s'", r'"\"\u00e4\_"')]
    ['the', "it's", '"ä\xa0']
    >>> _unquoted(r'"\ud83d\ude00"') == chr(0x1F600)  # escaped in two halves, as in JSON
    True
    """
    if len(piece) > 1 and piece[0] == piece[-1] == "'":
        return piece[1:-1].replace("''", "'")
    if len(piece) > 1 and piece[0] == piece[-1] == '"':
        text = ESCAPE.sub(_unescaped, piece[1:-1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return piece


def _unescaped(match: re.Match[str]) -> str:
    *codes, letter = match.groups()
    code = next((int(digits, 16) for digits in codes if digits), None)
    return ESCAPED.get(letter, letter) if code is None else chr(min(code, 0x10FFFF))


def _ids_of_sentencepiece(path: Path) -> dict[str, int]:
    processor = load_sentencepiece(path)
    return {processor.id_to_piece(id): id for id in range(processor.vocab_size())}

"""An imported model's vocabulary as a bundle has it: SentencePiece models, and a list of pieces by id."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from export.importers.imported import Imported, Side, SourceError
from export.material import VocabularyFiles
from service.text.piece_tokenizer import PieceTokenizer

FILES = VocabularyFiles("source.model", "target.model", "pieces.json")
TARGET_PIECES = "target_pieces.json"


class PieceTokenizers(NamedTuple):
    """Those of both sides, as the service will have them."""

    source: PieceTokenizer
    target: PieceTokenizer


def save_vocabulary(imported: Imported, folder: Path) -> VocabularyFiles:
    """Write the vocabulary into a folder, and say in which files it is."""
    files = FILES
    if imported.source.ids != imported.target.ids:
        files = FILES._replace(target_pieces=TARGET_PIECES)
    for side, model, pieces in (
        (imported.source, files.source, files.pieces),
        (imported.target, files.target, files.target_pieces),
    ):
        if model is not None:
            shutil.copyfile(side.model, folder / model)
        if pieces is not None:
            _write_pieces(side, folder / pieces)
    return files


def tokenizers_of(imported: Imported, folder: Path) -> PieceTokenizers:
    """The tokenizers, by way of files in an empty folder.

    Raises:
        BundleError: a SentencePiece model is broken.
    """
    files = save_vocabulary(imported, folder)
    source, target, pieces, target_pieces = (folder / (name or "") for name in files)
    last = target_pieces if files.target_pieces else pieces
    return PieceTokenizers(PieceTokenizer(source, pieces), PieceTokenizer(target, last))


def load_sentencepiece(path: Path) -> sentencepiece.SentencePieceProcessor:
    """A SentencePiece model.

    Raises:
        SourceError: it is missing, or none.
    """
    if not path.is_file():
        raise SourceError(f"{path}: is missing")
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise SourceError(f"{path}: is not a SentencePiece model: {error}") from None


def check_ids(path: Path, ids: Mapping[str, Any], size: int, limit: str) -> None:
    """Whether these are ids of pieces; `limit` says what `size` is.

    Raises:
        SourceError: they are no ids, or two pieces have the same.
    """
    seen: dict[int, str] = {}
    for piece, id in ids.items():
        if type(id) is not int or not 0 <= id < size:
            raise SourceError(f"{path}: {piece!r} = {id!r}; supported: ids below {limit}")
        if id in seen:
            raise SourceError(f"{path}: {piece!r} and {seen[id]!r} have the same id, {id}")
        seen[id] = piece


def _write_pieces(side: Side, path: Path) -> None:
    pieces = side.arrangement.pieces(side.ids)
    path.write_text(json.dumps(pieces, ensure_ascii=False) + "\n", encoding="utf-8")

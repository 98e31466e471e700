"""An imported model's vocabulary as in a bundle: the tokenizer's files and lists of pieces by id."""

import json
import shutil
from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

from export.importers.imported import Imported, Side
from export.material import VocabularyFiles
from service.models.bundle import Direction
from service.models.vocabularies import language_of
from service.text.moses_tokenizer import MosesTokenizer
from service.text.piece_tokenizer import PieceTokenizer

FILES = VocabularyFiles("source.model", "target.model", "pieces.json")
BPE_FILES = FILES._replace(source="source.bpe", target="target.bpe")
TARGET_PIECES = "target_pieces.json"


class PieceTokenizers(NamedTuple):
    """The tokenizers of both sides, as the service will use them."""

    source: PieceTokenizer
    target: PieceTokenizer


def save_vocabulary(imported: Imported, folder: Path) -> VocabularyFiles:
    """Write the vocabulary into a folder, and return the names of its files."""
    files = BPE_FILES if imported.moses else FILES
    if imported.source.ids != imported.target.ids:
        files = FILES._replace(target_pieces=TARGET_PIECES)
    hidden = {imported.target_start, *map(imported.target.ids.get, imported.languages.values())}
    for side, model, pieces in (
        (imported.source, files.source, files.pieces),
        (imported.target, files.target, files.target_pieces),
    ):
        if model is not None:
            shutil.copyfile(side.model, folder / model)
        if pieces is not None:
            _write_pieces(side, folder / pieces, hidden)
    return files


def tokenizers_of(
    imported: Imported, folder: Path, directions: Sequence[Direction] = ()
) -> PieceTokenizers:
    """Write the vocabulary into an empty folder, and load the tokenizers from it.

    Raises:
        BundleError: a file is broken, or a package that a tokenizer needs is not installed.
    """
    files = save_vocabulary(imported, folder)
    source, target, pieces, target_pieces = (folder / (name or "") for name in files)
    pieces_of_target = target_pieces if files.target_pieces else pieces
    if imported.moses is None:
        return PieceTokenizers(
            PieceTokenizer(source, pieces), PieceTokenizer(target, pieces_of_target)
        )
    options = imported.moses.model_dump()
    source_language, target_language = (
        language_of(getattr(direction, side) for direction in directions)
        for side in ("source", "target")
    )
    return PieceTokenizers(
        MosesTokenizer(source, pieces, source_language, **options),
        MosesTokenizer(target, pieces_of_target, target_language, **options),
    )


def _write_pieces(side: Side, path: Path, hidden: Container[int | None]) -> None:
    """Write the pieces by id, except the `hidden` ones, which are not part of a text."""
    ids = {piece: id for piece, id in side.ids.items() if id not in hidden}
    pieces = side.arrangement.pieces(ids)
    path.write_text(json.dumps(pieces, ensure_ascii=False) + "\n", encoding="utf-8")

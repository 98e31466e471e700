"""A SentencePiece model whose pieces have ids from a separate list, as in Marian's models.

The list is a JSON file of pieces, with null for ids without a piece. Both sides may share a list even if each
has its own SentencePiece model.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from service.errors import BundleError, quoted
from service.models.bundle_files import read_text
from service.text.tokenizer import Tokenizer, unwrapped

NAMES = {"<pad>": "pad", "<unk>": "unk", "</s>": "eos"}
UNSPELLED = {*NAMES, "<s>"}
"""Pieces that are not part of any text."""
BLANK = "▁"
"""A space in pieces."""
MAX_BYTES = 64 * 1024 * 1024


class PieceTokenizer(Tokenizer):
    """Splits like SentencePiece, and maps pieces to ids by a list."""

    def __init__(self, path: Path, pieces: Path) -> None:
        """Load a SentencePiece model, and the list of pieces.

        Raises:
            BundleError: a file is invalid.
        """
        self._pieces = read_pieces(pieces)
        self._ids = {piece: id for id, piece in enumerate(self._pieces) if piece is not None}
        if "<unk>" not in self._ids:
            raise BundleError(": has no <unk>", pieces)
        self.unknown_id = self._unknown = self._ids["<unk>"]
        super().__init__(path)

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self._pieces)

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of pad, unk and eos, if they exist. BOS has no piece."""
        return {name: self._ids[piece] for piece, name in NAMES.items() if piece in self._ids}

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, or that of `<unk>`."""
        return self._ids.get(piece, self._unknown)

    def piece(self, id: int) -> str:
        """Return the piece of an id, or "" if it has none."""
        return self._pieces[id] or ""

    def has_piece(self, piece: str) -> bool:
        """Check whether a piece exists in SentencePiece's model and has an id."""
        return super().has_piece(piece) and piece in self._ids

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without tag, BOS or EOS."""
        return [[self.id_of(piece) for piece in self.pieces(sentence)] for sentence in sentences]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a sentence, and each one's span of characters."""
        encoding = self._processor.encode(unwrapped(sentence), return_type="offset_mapping")
        return [self.id_of(piece) for piece in encoding["pieces"]], encoding["offsets"]

    def spans(self, ids: Sequence[int], text: str) -> list[tuple[int, int]] | None:  # noqa: ARG002
        """Return None: pieces without an id may have been put in."""
        return None

    def unknown_pieces(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence that have no id."""
        return [piece for piece in self.pieces(sentence) if self.id_of(piece) == self._unknown]

    def decode(self, ids: Sequence[Sequence[int]], unknown: Sequence[str] = ()) -> list[str]:
        """Return the text of each list of ids, without special tokens.

        The unknown tokens are replaced by `unknown`, in order. Pieces that are only in the other side's model
        keep their space marks in SentencePiece, so these are replaced here.
        """
        rows = (list(self._spelled(row, unknown)) for row in ids)
        return [self._joined(row).replace(BLANK, " ").strip() if row else "" for row in rows]

    def _joined(self, pieces: Sequence[str]) -> str:
        """Join pieces to a text."""
        text: str = self._processor.decode(pieces)
        return text

    def _spelled(self, ids: Sequence[int], unknown: Sequence[str]) -> Iterator[str]:
        """Yield the pieces of ids, except special tokens."""
        remaining = iter(unknown)
        for id in ids:
            piece = next(remaining, None) if id == self._unknown else self._pieces[id]
            if piece and piece not in UNSPELLED:
                yield piece

    def _spelled_pieces(self) -> Iterator[str]:
        """Yield all pieces that have an id."""
        return (piece for piece in super()._spelled_pieces() if piece in self._ids)


def read_pieces(path: Path) -> list[str | None]:
    """Read the list of pieces.

    Raises:
        BundleError: the file is not a list of different pieces.
    """
    try:
        pieces: Any = json.loads(read_text(path, MAX_BYTES))
    except ValueError as error:
        raise BundleError(": is not JSON", path, str(error)) from None
    except RecursionError:
        raise BundleError(": is nested too deeply", path) from None
    if not isinstance(pieces, list):
        raise BundleError(": is not a list of pieces", path)
    known: set[str] = set()
    for id, piece in enumerate(pieces):
        if piece is None:
            continue
        if not isinstance(piece, str) or not piece or piece in known:
            reason = "is there twice" if piece in known else "is no piece"
            raise BundleError(f": {quoted(str(piece))}, of id {id}, {reason}", path)
        known.add(piece)
    return list(pieces)

"""A SentencePiece model whose pieces have other ids than its own, as in Marian's models.

The ids are in a separate file: a JSON list of pieces, with null for ids without a piece. Both sides may share
one list even if each has its own SentencePiece model.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from service.errors import BundleError, quoted
from service.models.bundle_files import read_text
from service.text.tokenizer import Tokenizer

NAMES = {"<pad>": "pad", "<unk>": "unk", "</s>": "eos"}
UNSPELLED = {*NAMES, "<s>"}
"""Pieces that no text spells."""
BLANK = "▁"
"""As pieces have it."""
MAX_BYTES = 64 * 1024 * 1024


class PieceTokenizer(Tokenizer):
    """Cuts as SentencePiece does, and takes the ids of the pieces from a list."""

    def __init__(self, path: Path, pieces: Path) -> None:
        """Load a SentencePiece model, and the pieces by id.

        Raises:
            BundleError: a file is not what it should be.
        """
        self._pieces = read_pieces(pieces)
        self._ids = {piece: id for id, piece in enumerate(self._pieces) if piece is not None}
        if "<unk>" not in self._ids:
            raise BundleError(": has no <unk>", pieces)
        self.unknown_id = self._unknown = self._ids["<unk>"]
        super().__init__(path)

    @property
    def vocab_size(self) -> int:
        """How many ids there are."""
        return len(self._pieces)

    @property
    def special_ids(self) -> dict[str, int]:
        """Those of pad, unk and eos, as far as it has them; what a translation begins with is no piece."""
        return {name: self._ids[piece] for piece, name in NAMES.items() if piece in self._ids}

    def id_of(self, piece: str) -> int:
        """The id of a piece; that of `<unk>` where it has none."""
        return self._ids.get(piece, self._unknown)

    def piece(self, id: int) -> str:
        """The piece of an id; empty where it has none."""
        return self._pieces[id] or ""

    def has_piece(self, piece: str) -> bool:
        """Whether that is a token: SentencePiece cuts it out, and it has an id."""
        return super().has_piece(piece) and piece in self._ids

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids of each sentence, without tag, BOS or EOS."""
        return [[self.id_of(piece) for piece in self.pieces(sentence)] for sentence in sentences]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of a sentence, and the characters that each stands for."""
        found = self._processor.encode(sentence, return_type="offset_mapping")
        return [self.id_of(piece) for piece in found["pieces"]], found["offsets"]

    def unknown_pieces(self, sentence: str) -> list[str]:
        """What of a sentence has no id, in its order."""
        return [piece for piece in self.pieces(sentence) if self.id_of(piece) == self._unknown]

    def decode(self, ids: Sequence[Sequence[int]], unknown: Sequence[str] = ()) -> list[str]:
        """Text of each list of ids; what no text spells is left out.

        `unknown` is what unknown tokens stand for, one after another. Pieces may be those of the other side's
        model alone, whose blanks SentencePiece leaves as they are.
        """
        rows = (list(self._spelled(row, unknown)) for row in ids)
        return [self._joined(row).replace(BLANK, " ").strip() if row else "" for row in rows]

    def _joined(self, pieces: Sequence[str]) -> str:
        """The text that pieces spell."""
        text: str = self._processor.decode(pieces)
        return text

    def _spelled(self, ids: Sequence[int], unknown: Sequence[str]) -> Iterator[str]:
        """The pieces of a text."""
        rest = iter(unknown)
        for id in ids:
            piece = next(rest, None) if id == self._unknown else self._pieces[id]
            if piece and piece not in UNSPELLED:
                yield piece

    def _spelled_pieces(self) -> Iterator[str]:
        """Those that it cuts texts into, as far as they have an id."""
        return (piece for piece in super()._spelled_pieces() if piece in self._ids)


def read_pieces(path: Path) -> list[str | None]:
    """The pieces by id.

    Raises:
        BundleError: it is no list of different pieces.
    """
    try:
        pieces: Any = json.loads(read_text(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise BundleError(": is not JSON", path, str(error)) from None
    if not isinstance(pieces, list):
        raise BundleError(": is not a list of pieces", path)
    seen: set[str] = set()
    for id, piece in enumerate(pieces):
        if piece is None:
            continue
        if not isinstance(piece, str) or not piece or piece in seen:
            why = "is there twice" if piece in seen else "is no piece"
            raise BundleError(f": {quoted(str(piece))}, of id {id}, {why}", path)
        seen.add(piece)
    return list(pieces)

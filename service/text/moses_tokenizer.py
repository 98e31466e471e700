"""Moses' tokenizer followed by subword-nmt's BPE, for models from before SentencePiece.

Moses' rules come from sacremoses, which is optional (the extra `moses`).
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

from service.errors import BundleError
from service.text.bpe import Bpe
from service.text.piece_tokenizer import PieceTokenizer

JOINT = "@@"
"""Follows a piece that does not end its word."""
HYPHEN = "@-@"
"""A hyphen within a word, with `splits_hyphens`."""
_JOINTS = re.compile(f"{JOINT}(?: |\\Z)")
_CHARACTER = re.compile(r"&(?:amp|lt|gt|apos|quot|#91|#93|#124);|.", re.DOTALL)
"""A character, which Moses may have escaped."""


class MosesTokenizer(PieceTokenizer):
    """Splits like Moses and subword-nmt, and maps pieces to ids by a list."""

    def __init__(
        self, codes: Path, pieces: Path, language: str, *, splits_hyphens: bool, escapes: bool
    ) -> None:
        """Load a list of merges, and the pieces by id.

        Args:
            codes: subword-nmt's or fastBPE's file.
            pieces: see `PieceTokenizer`.
            language: code without a region, for abbreviations and apostrophes; unknown ones mean English.
            splits_hyphens: whether hyphens within words become tokens, `@-@`.
            escapes: whether quotes, brackets, `&` and `|` are written as XML entities.

        Raises:
            BundleError: a file is invalid, or sacremoses is not installed.
        """
        try:
            import sacremoses
        except ImportError:
            raise BundleError(
                ": its texts are cut by Moses' tokenizer, for which sacremoses is missing: "
                "pip install -e '.[moses]' in a clone of Attendant",
                codes,
            ) from None
        self._split = sacremoses.MosesTokenizer(language)
        # sacremoses builds both sets again for each word
        self._split.isanyalpha = frozenset(self._split.IsAlpha).intersection
        self._split.islower = frozenset(self._split.IsLower).issuperset
        self._join = sacremoses.MosesDetokenizer(language)
        self._join_plainly = sacremoses.MosesDetokenizer("")
        self._splits_hyphens, self._escapes = splits_hyphens, escapes
        super().__init__(codes, pieces)

    def _load(self, path: Path) -> None:
        self._bpe = Bpe(path)

    def pieces(self, sentence: str) -> list[str]:
        """Split a sentence into pieces."""
        return [piece for word in self._words(sentence) for piece in self._cut(word)]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a sentence, and each one's span of characters."""
        ids, spans, position = [], [], 0
        for word in self._words(sentence):
            places, position = self._places(sentence, word, position)
            start = 0
            for piece in self._cut(word):
                end = start + len(piece.removesuffix(JOINT))
                ids.append(self.id_of(piece))
                spans.append((places[start][0], places[end - 1][1]))
                start = end
        return ids, spans

    def has_piece(self, piece: str) -> bool:
        """Check whether a piece has an id."""
        return piece in self._ids

    def spells(self, character: str) -> bool:
        """Check whether a character occurs in pieces; Moses does not normalise any."""
        return character in self._characters

    def _words(self, sentence: str) -> list[str]:
        words: list[str] = self._split.tokenize(
            sentence, aggressive_dash_splits=self._splits_hyphens, escape=self._escapes
        )
        return words

    def _cut(self, word: str) -> list[str]:
        *pieces, last = self._bpe.cut(word)
        return [*(piece + JOINT for piece in pieces), last]

    def _places(self, sentence: str, word: str, position: int) -> tuple[list[tuple[int, int]], int]:
        """Return the span of each character of a word, which follows `position`, and the word's end."""
        places = []
        for character in [HYPHEN] if word == HYPHEN else self._characters_of(word):
            original = "-" if character == HYPHEN else unescape(character)
            start = sentence.find(original, position)
            if start < 0:
                start = position
            else:
                position = start + 1
            places += [(start, position)] * len(character)
        return places, position

    def _characters_of(self, word: str) -> list[str]:
        return _CHARACTER.findall(word) if self._escapes else list(word)

    def _joined(self, pieces: Sequence[str]) -> str:
        words = _JOINTS.sub("", " ".join(pieces)).split()
        try:
            text: Any = self._join.detokenize(words, unescape=self._escapes)
        except TypeError:  # a bug in sacremoses' rule for the Czech "-li"
            text = self._join_plainly.detokenize(words, unescape=self._escapes)
        return str(text)

    def _spelled_pieces(self) -> Iterator[str]:
        """Yield all pieces that have an id, without continuation marks."""
        for piece in self._ids:
            text = piece.removesuffix(JOINT)
            yield unescape(text) if self._escapes else text

    def _is_known(self, word: str) -> bool:
        return self.pieces(word) == [word] and word in self._ids

    def _score(self, word: str) -> float:
        """Return the negative number of pieces: a word with fewer pieces counts as more probable."""
        return -float(len(self.pieces(word)))

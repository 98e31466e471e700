"""SentencePiece: sentences to ids and back."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from service.errors import BundleError


class Tokenizer:
    """The vocabulary of one bundle; safe to use from many threads."""

    def __init__(self, path: Path) -> None:
        """Load a SentencePiece model.

        Raises:
            BundleError: the file is not one.
        """
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise BundleError(f"{path} is not a SentencePiece model: {error}") from None

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return int(self._processor.vocab_size())

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids of each sentence, without tag, BOS or EOS.

        One call a sentence: for a list, SentencePiece starts threads, which takes longer than the work.
        """
        return [self._processor.encode(sentence) for sentence in sentences]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of a sentence, and the characters that each stands for."""
        found = self._processor.encode(sentence, return_type="offset_mapping")
        return found["ids"], found["offsets"]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each list of ids; bytes that are no character are left out."""
        decoded = (self._processor.decode(list(row)) for row in ids)
        return [text.replace("\ufffd", "").strip() for text in decoded]


class Tokenizers(NamedTuple):
    """Those of a bundle's two sides; mostly the same one twice."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def load(cls, source: Path, target: Path) -> "Tokenizers":
        """Load each file once.

        Raises:
            BundleError: one is not a SentencePiece model.
        """
        tokenizer = Tokenizer(source)
        return cls(tokenizer, tokenizer if source == target else Tokenizer(target))

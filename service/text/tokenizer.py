"""SentencePiece: sentences to ids and back."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from service.errors import BundleError
from service.text.languages import NEUTRAL, Language
from service.text.normal_forms import normalize

_SPACES = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"), " ")
_FIRST_WORD = re.compile(r"\A\w+")
SPECIAL = ("pad", "unk", "bos", "eos")
CAPITALS_LEAD = 1.5
"""Nats by which a word may be more probable with a capital, because it often begins a sentence."""


def unwrapped(sentence: str) -> str:
    """Replace line breaks, tabs and separators by spaces, as not every SentencePiece model does so itself."""
    return sentence if sentence.isprintable() else sentence.translate(_SPACES)


class Tokenizer:
    """One vocabulary of a bundle. Safe for threads."""

    unknown_id: int | None = None
    """The id of the unknown token; None if unknown characters are spelt with bytes."""

    def __init__(self, path: Path) -> None:
        """Load a SentencePiece model.

        Raises:
            BundleError: the file is not a SentencePiece model.
        """
        self._load(path)
        try:
            self._characters = frozenset("".join(self._spelled_pieces()))
        except UnicodeDecodeError as error:
            raise BundleError(" is not a SentencePiece model", path, str(error)) from None

    def _load(self, path: Path) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise BundleError(" is not a SentencePiece model", path, str(error)) from None

    def _spelled_pieces(self) -> Iterator[str]:
        """Yield all pieces except bytes."""
        for id in range(self._processor.vocab_size()):
            if not self._processor.is_byte(id):
                yield self._processor.id_to_piece(id)

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return int(self._processor.vocab_size())

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of pad, unk, bos and eos, if they exist."""
        ids = {name: getattr(self._processor, f"{name}_id")() for name in SPECIAL}
        return {name: id for name, id in ids.items() if id >= 0}

    def spells(self, character: str) -> bool:
        """Check whether a character occurs in pieces, so that it is not spelt with bytes."""
        return all(letter in self._characters for letter in normalize("NFKC", character))

    def has_piece(self, piece: str) -> bool:
        """Check whether a piece is a token."""
        return int(self._processor.piece_to_id(piece)) != self._processor.unk_id()

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without tag, BOS or EOS.

        SentencePiece is called once per sentence: for a list, it starts threads, which takes longer.
        """
        return [self._processor.encode(unwrapped(sentence)) for sentence in sentences]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a sentence, and each one's span of characters."""
        encoding = self._processor.encode(unwrapped(sentence), return_type="offset_mapping")
        return encoding["ids"], encoding["offsets"]

    def spans(self, ids: Sequence[int], text: str) -> list[tuple[int, int]] | None:
        """Return each id's span of characters in the text that they were decoded to.

        None if this is not known, or if they are not those of this text.
        """
        decoding = self._processor.decode(list(ids), return_type="offset_mapping")
        return decoding["offsets"] if decoding["text"] == text else None

    def within(self, text: str, language: Language = NEUTRAL) -> str:
        """Give the first word of a sentence the case that it has within a sentence.

        Names, German nouns, acronyms and unknown words keep their capitals.
        """
        match = _FIRST_WORD.match(text)
        word = match.group() if match else ""
        lower = language.lower(word[:1]) + word[1:]
        is_usual = self._is_known(lower) and (
            self._score(lower) >= self._score(word) - CAPITALS_LEAD
        )
        if lower != language.lower(word) or not is_usual:
            return text
        return lower + text[len(word) :]

    def truecase(self, word: str, language: Language = NEUTRAL) -> str:
        """Return a word in lower case or capitalized, whichever is more probable.

        A capitalized word that is not in the vocabulary keeps its case, because it may be a name.
        """
        lower = language.lower(word)
        capital = language.capitalized(lower)
        if self._score(capital) > self._score(lower):
            return capital
        return lower if self._is_known(lower) or word != capital else capital

    def _is_known(self, word: str) -> bool:
        """Check whether a word is a single token."""
        return len(self._processor.encode(word)) == 1

    def _score(self, word: str) -> float:
        """Return the log-probability of a word in the unigram vocabulary, in nats."""
        return math.fsum(map(self._processor.get_score, self._processor.encode(word)))

    def pieces(self, sentence: str) -> list[str]:
        """Split a sentence into pieces."""
        pieces: list[str] = self._processor.encode(unwrapped(sentence), out_type=str)
        return pieces

    def unknown_pieces(self, sentence: str) -> list[str]:  # noqa: ARG002
        """Return the pieces of a sentence that have no id: none, if they are spelt with bytes."""
        return []

    def decode(self, ids: Sequence[Sequence[int]], unknown: Sequence[str] = ()) -> list[str]:  # noqa: ARG002
        """Return the text of each list of ids, without invalid bytes.

        Unknown tokens are replaced by `unknown`, in order, if the vocabulary has such tokens.
        """
        decoded = (self._processor.decode(list(row)) for row in ids)
        return [text.replace("\ufffd", "").strip() for text in decoded]


class Tokenizers(NamedTuple):
    """The vocabularies of a bundle's two sides; usually the same one twice."""

    source: Tokenizer
    target: Tokenizer

    def translations(
        self,
        sentence: str,
        ids: Sequence[Sequence[int]],
        attended: Sequence[Sequence[int]] = (),
    ) -> list[str]:
        """Return the texts of a sentence's translations.

        Unknown tokens of the n-th translation are replaced by the pieces of the sentence at `attended[n]`, or
        if there is no attention, by the sentence's unknown pieces in order.
        """
        if not any(self.target.unknown_id in row for row in ids):
            return self.target.decode(ids)
        pieces, in_order = self.source.pieces(sentence), self.source.unknown_pieces(sentence)
        rows = zip_longest(ids, attended, fillvalue=())
        return [
            self.target.decode([row], [pieces[index] for index in indices] or in_order)[0]
            for row, indices in rows
        ]

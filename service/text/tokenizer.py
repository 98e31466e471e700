"""SentencePiece: sentences to ids and back."""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from service.errors import BundleError
from service.text.languages import NEUTRAL, Language

_FIRST_WORD = re.compile(r"\A\w+")
SPECIAL = ("pad", "unk", "bos", "eos")
CAPITALS_LEAD = 1.5
"""By which a word's probability may be higher, in nats, because sentences often begin with it."""


class Tokenizer:
    """The vocabulary of one bundle; safe to use from many threads."""

    unknown_id: int | None = None
    """Of a token that may stand for anything; None where bytes spell what has no piece."""

    def __init__(self, path: Path) -> None:
        """Load a SentencePiece model.

        Raises:
            BundleError: the file is not one.
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
        """All that it cuts texts into, but for bytes."""
        for id in range(self._processor.vocab_size()):
            if not self._processor.is_byte(id):
                yield self._processor.id_to_piece(id)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return int(self._processor.vocab_size())

    @property
    def special_ids(self) -> dict[str, int]:
        """Those of pad, unk, bos and eos, as far as it has them."""
        ids = {name: getattr(self._processor, f"{name}_id")() for name in SPECIAL}
        return {name: id for name, id in ids.items() if id >= 0}

    def spells(self, character: str) -> bool:
        """Whether a character can be written with pieces, not by its bytes alone."""
        return all(one in self._characters for one in unicodedata.normalize("NFKC", character))

    def has_piece(self, piece: str) -> bool:
        """Whether that is a token."""
        return int(self._processor.piece_to_id(piece)) != self._processor.unk_id()

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids of each sentence, without tag, BOS or EOS.

        One call a sentence: for a list, SentencePiece starts threads, which takes longer than the work.
        """
        return [self._processor.encode(sentence) for sentence in sentences]

    def encode_with_spans(self, sentence: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of a sentence, and the characters that each stands for."""
        found = self._processor.encode(sentence, return_type="offset_mapping")
        return found["ids"], found["offsets"]

    def within(self, text: str, language: Language = NEUTRAL) -> str:
        """A text that begins a sentence as it stands within one: with its first word in its usual case.

        Names and the nouns of German keep their capital, and so do acronyms and words that are not known.
        """
        found = _FIRST_WORD.match(text)
        word = found.group() if found else ""
        lower = language.lower(word[:1]) + word[1:]
        is_usual = self._is_known(lower) and (
            self._score(lower) >= self._score(word) - CAPITALS_LEAD
        )
        if lower != language.lower(word) or not is_usual:
            return text
        return lower + text[len(word) :]

    def truecase(self, word: str, language: Language = NEUTRAL) -> str:
        """A word in small letters, or with a capital in front: the one that is the likelier.

        Names and the nouns of German have a capital; what has it and is not in the vocabulary may be a name.
        """
        lower = language.lower(word)
        capital = language.capitalized(lower)
        if self._score(capital) > self._score(lower):
            return capital
        return lower if self._is_known(lower) or word != capital else capital

    def _is_known(self, word: str) -> bool:
        """Whether a word is in the vocabulary as a whole."""
        return len(self._processor.encode(word)) == 1

    def _score(self, word: str) -> float:
        """How probable the vocabulary takes a word to be, in nats."""
        return math.fsum(map(self._processor.get_score, self._processor.encode(word)))

    def pieces(self, sentence: str) -> list[str]:
        """What a sentence is cut into."""
        found: list[str] = self._processor.encode(sentence, out_type=str)
        return found

    def unknown_pieces(self, sentence: str) -> list[str]:  # noqa: ARG002
        """What of a sentence has no id, in its order; nothing where what is unknown has bytes."""
        return []

    def decode(self, ids: Sequence[Sequence[int]], unknown: Sequence[str] = ()) -> list[str]:  # noqa: ARG002
        """Text of each list of ids; bytes that are no character are left out.

        `unknown` is what unknown tokens stand for, one after another, where a vocabulary has such tokens.
        """
        decoded = (self._processor.decode(list(row)) for row in ids)
        return [text.replace("\ufffd", "").strip() for text in decoded]


class Tokenizers(NamedTuple):
    """Those of a bundle's two sides; mostly the same one twice."""

    source: Tokenizer
    target: Tokenizer

    def translations(
        self,
        sentence: str,
        ids: Sequence[Sequence[int]],
        attended: Sequence[Sequence[int]] = (),
    ) -> list[str]:
        """Texts of a sentence's translations.

        Unknown tokens of the n-th are written as those pieces of the sentence whose places are `attended[n]`;
        without, as what is unknown in the sentence, in its order.
        """
        if not any(self.target.unknown_id in row for row in ids):
            return self.target.decode(ids)
        pieces, in_order = self.source.pieces(sentence), self.source.unknown_pieces(sentence)
        rows = zip_longest(ids, attended, fillvalue=())
        return [
            self.target.decode([row], [pieces[at] for at in places] or in_order)[0]
            for row, places in rows
        ]

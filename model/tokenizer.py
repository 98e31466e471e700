"""SentencePiece vocabularies: one for both sides, with a tag token for each target language."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import sentencepiece

from model.config import Config

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
FILE_NAME = "sentencepiece.model"


class VocabularyError(ValueError):
    """The text at hand cannot give the vocabulary that the configuration asks for."""


def tag_piece(language: str) -> str:
    """The control symbol that stands in front of a source to ask for `language`; no text can spell it."""
    return f"<2{language}>"


def train_tokenizer(config: Config, sentences: Iterable[str], origin: str) -> bytes:
    """Learn the joint vocabulary and return SentencePiece's serialized model.

    Args:
        config: its `model.vocab_size`, `data.vocab_type` and languages are used.
        sentences: the text of both sides.
        origin: where the text is from, for the error's message.

    Raises:
        VocabularyError: the text is too small for `vocab_size`.
    """
    model = BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=config.data.vocab_type,
            vocab_size=config.model.vocab_size,
            normalization_rule_name=config.data.normalization,
            character_coverage=config.data.character_coverage,
            byte_fallback=config.data.byte_fallback,
            control_symbols=[tag_piece(code) for code in config.data.targets],
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            max_sentence_length=100_000,
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = str(error).rpartition("] ")[2].strip() or str(error)
        raise VocabularyError(
            f"{origin}: cannot give a vocabulary of {config.model.vocab_size} tokens: {reason} "
            "Lower model.vocab_size, or train on more text."
        ) from None
    return model.getvalue()


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids and back."""

    model: bytes
    processor: sentencepiece.SentencePieceProcessor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parse the serialized model."""
        processor = sentencepiece.SentencePieceProcessor(model_proto=self.model)
        object.__setattr__(self, "processor", processor)

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a `.model` file."""
        return cls(path.read_bytes())

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return int(self.processor.vocab_size())

    def tag_id(self, language: str) -> int:
        """The id of the tag that asks for `language`.

        Raises:
            VocabularyError: the vocabulary has no such tag.
        """
        piece_id = int(self.processor.piece_to_id(tag_piece(language)))
        if piece_id == UNK_ID:
            raise VocabularyError(f"the vocabulary has no tag {tag_piece(language)}")
        return piece_id

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Plain pieces of each sentence, without tag, BOS or EOS."""
        encoded: list[list[int]] = self.processor.encode(list(sentences))
        return encoded

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each list of ids; BOS, EOS and padding vanish."""
        decoded: list[str] = self.processor.decode([list(row) for row in ids])
        return decoded

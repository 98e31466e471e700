"""SentencePiece vocabularies, one for both sides or one for each, with a tag for each target language."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from model.config import Config

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
FILE_NAME, TARGET_FILE_NAME = "sentencepiece.model", "sentencepiece.target.model"


class VocabularyError(ValueError):
    """A vocabulary of the configured size cannot be learnt, or a vocabulary lacks a language tag."""


def tag_piece(language: str) -> str:
    """Return the control symbol before a source that requests `language`. Text never encodes to it."""
    return f"<2{language}>"


def train_tokenizer(config: Config, sentences: Iterable[str], origin: str) -> bytes:
    """Learn a vocabulary and return the serialized SentencePiece model.

    Args:
        config: `model.vocab_size`, the vocabulary's options in `data`, and the target languages are used.
        sentences: the text to learn from.
        origin: the source of the text, for error messages.

    Raises:
        VocabularyError: the text is too small, or has too many different characters, for `vocab_size`.
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
            split_digits=config.data.split_digits,
            user_defined_symbols=list(config.data.symbols),
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
    """Converts text to ids and back."""

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
        """The number of tokens."""
        return int(self.processor.vocab_size())

    def tag_id(self, language: str) -> int:
        """Return the id of the tag that requests `language`.

        Raises:
            VocabularyError: the vocabulary has no such tag.
        """
        piece_id = int(self.processor.piece_to_id(tag_piece(language)))
        if piece_id == UNK_ID:
            raise VocabularyError(f"the vocabulary has no tag {tag_piece(language)}")
        return piece_id

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Encode each sentence, without tag, BOS or EOS."""
        encoded: list[list[int]] = self.processor.encode(list(sentences))
        return encoded

    def sample(self, sentences: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Encode each sentence by a random segmentation, which is the same for the same seed.

        In a unigram vocabulary, segmentations are drawn by their likelihood to the power of alpha (Kudo,
        2018). In a BPE vocabulary, merges are skipped with probability alpha (Provilkov et al., 2020).
        """
        # encoding a list starts a new thread, whose generator is initialized with this seed
        sentencepiece.set_random_generator_seed(seed)
        encoded: list[list[int]] = self.processor.encode(
            list(sentences), enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1
        )
        return encoded

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Decode each list of ids to text; BOS, EOS and padding are dropped."""
        decoded: list[str] = self.processor.decode([list(row) for row in ids])
        return decoded


class Vocabularies(NamedTuple):
    """The tokenizers of source and target, which may be the same."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def load(cls, folder: Path) -> "Vocabularies":
        """Read the one or two models in `folder`."""
        source = Tokenizer.load(folder / FILE_NAME)
        path = folder / TARGET_FILE_NAME
        return cls(source, Tokenizer.load(path) if path.exists() else source)

    def save(self, folder: Path) -> None:
        """Write the one or two models to `folder`."""
        (folder / FILE_NAME).write_bytes(self.source.model)
        if not self.is_joint:
            (folder / TARGET_FILE_NAME).write_bytes(self.target.model)

    @property
    def pieces(self) -> tuple[Callable[[int], str], Callable[[int], str]]:
        """For source and target, a function that returns the piece of an id."""
        return self.source.processor.id_to_piece, self.target.processor.id_to_piece

    @property
    def is_joint(self) -> bool:
        """Whether both sides share one vocabulary, so that an id means the same on both."""
        return self.source is self.target

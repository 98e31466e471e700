"""The material for a bundle, whether it is from a run, another bundle or an imported model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from model.checkpoint import Checkpoint
from model.data.corpus import Pair, encode_pairs
from model.evaluate import suppressed_ids
from model.tokenizer import FILE_NAME, TARGET_FILE_NAME
from model.transformer import Transformer
from service.models.bundle import (
    Bundle,
    DecodingDefaults,
    Direction,
    Limits,
    Moses,
    Precision,
    Provenance,
)

PieceLookups = tuple[Callable[[int], str], Callable[[int], str]]
"""Functions that return the piece of a source and of a target token id."""


@dataclass(frozen=True)
class ExportOptions:
    """How to export a checkpoint."""

    name: str
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    licences: tuple[str, ...] = ()
    calibration_batches: int = 40
    """Batches of held-out text whose activations set the int8 scales."""
    golden_sentences: int = 40
    """Held-out sentences that the reference search translates for verification."""
    aligned_pairs: int = 400
    """Held-out pairs used to choose the alignment heads."""
    like: Bundle | None = None
    """A bundle whose decoding defaults, rules and translation memory are copied."""
    memory: Path | None = None
    """The table of a translation memory, used instead of that bundle's."""


class VocabularyFiles(NamedTuple):
    """Names of a bundle's vocabulary files, as in its manifest."""

    source: str
    target: str | None = None
    pieces: str | None = None
    target_pieces: str | None = None


@dataclass(frozen=True)
class Material:
    """A network with its vocabulary, held-out text and manifest entries."""

    network: Transformer
    pairs: Sequence[Pair]
    """Held-out pairs for calibration and verification."""
    suppressed: tuple[int, ...]
    """Tokens that get no probability."""
    pieces: PieceLookups
    save_vocabulary: Callable[[Path], VocabularyFiles]
    """Writes the vocabulary's files into a folder, and returns their names."""
    directions: list[Direction]
    limits: Limits
    decoding: DecodingDefaults
    provenance: Provenance
    ends_source: bool = True
    """Whether EOS follows a source."""
    has_text: bool = True
    """Whether the pairs' sources are real text, and not drawn at random from the vocabulary."""
    moses: Moses | None = None
    """How words are tokenized before BPE, for models without SentencePiece."""
    rules: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Names and parameters of rules that the model's text needs in addition to the default ones."""

    @property
    def after(self) -> int:
        """Number of tokens after a source's pieces."""
        return int(self.ends_source)

    @property
    def before(self) -> int:
        """Number of tokens before a source's pieces."""
        return len(self.directions[0].prefix)

    def direction_of(self, pair: Pair) -> Direction:
        """Return the first direction whose tag and start token match a pair, or else the first direction."""
        tag, first_token = int(pair.source[0]), int(pair.target[0])
        for direction in self.directions:
            if direction.tag in (None, tag) and direction.start_token in (None, first_token):
                return direction
        return self.directions[0]

    @property
    def has_opposites(self) -> bool:
        """Whether the model can score translations in the opposite direction, as reranking does.

        The scorer's inputs for this have a tag before and EOS after the source, and no start tokens.
        """
        if not self.ends_source or any(direction.start_tokens for direction in self.directions):
            return False
        pairs = {(direction.source, direction.target) for direction in self.directions}
        return any((target, source) in pairs for source, target in pairs)


def material_of(
    checkpoint: Checkpoint, text: dict[str, list[str]], options: ExportOptions
) -> Material:
    """Return the material of a checkpoint and aligned held-out lines by language."""
    config, vocabularies = checkpoint.config, checkpoint.vocabularies

    def save(folder: Path) -> VocabularyFiles:
        vocabularies.save(folder)
        return VocabularyFiles(FILE_NAME, None if vocabularies.is_joint else TARGET_FILE_NAME)

    pairs = (direction.split("-") for direction in config.data.directions)
    return Material(
        network=checkpoint.network(),
        pairs=encode_pairs(text, config.data, vocabularies),
        suppressed=suppressed_ids(vocabularies, config),
        pieces=vocabularies.pieces,
        save_vocabulary=save,
        directions=[
            Direction(source=source, target=target, tag=vocabularies.source.tag_id(target))
            for source, target in pairs
        ],
        limits=Limits(
            max_source_length=config.model.max_positions // 2,
            max_target_length=config.model.max_positions,
        ),
        decoding=options.like.manifest.decoding if options.like else DecodingDefaults(),
        provenance=Provenance(
            config=config.to_mapping(),
            step=checkpoint.step,
            parameters=sum(tensor.numel() for tensor in checkpoint.weights.values()),
            licences=list(options.licences),
        ),
    )

"""What a bundle is made of, wherever the network is from: a run, another bundle, a model of others."""

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

Pieces = tuple[Callable[[int], str], Callable[[int], str]]
"""The pieces of source and target by id."""


@dataclass(frozen=True)
class ExportOptions:
    """What to make of a checkpoint."""

    name: str
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    licences: tuple[str, ...] = ()
    calibration_batches: int = 40
    """Batches of held-out text whose activations set the int8 scales."""
    golden_sentences: int = 40
    """Held-out sentences that the reference search translates for the proof."""
    aligned_pairs: int = 400
    """Held-out pairs by which the heads that align are chosen."""
    like: Bundle | None = None
    """A bundle whose decoding defaults and rules are taken over."""


class VocabularyFiles(NamedTuple):
    """Names within a bundle, as its manifest has them."""

    source: str
    target: str | None = None
    pieces: str | None = None
    target_pieces: str | None = None


@dataclass(frozen=True)
class Material:
    """A network with its vocabulary, held-out text, and what its manifest says of it."""

    network: Transformer
    pairs: Sequence[Pair]
    """For calibration and proof."""
    suppressed: tuple[int, ...]
    """Tokens that get no probability."""
    pieces: Pieces
    save_vocabulary: Callable[[Path], VocabularyFiles]
    """Writes the vocabulary's files into a folder."""
    directions: list[Direction]
    limits: Limits
    decoding: DecodingDefaults
    provenance: Provenance
    ends_source: bool = True
    """Whether EOS stands behind a source."""
    has_text: bool = True
    """Whether the sources of the pairs are of a language, and not drawn from the vocabulary."""
    moses: Moses | None = None
    """How words are cut before BPE, where SentencePiece does not cut the text."""
    rules: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Those that its text needs beside those for every model: names and parameters."""

    @property
    def behind(self) -> int:
        """Tokens behind a source's pieces."""
        return int(self.ends_source)

    @property
    def before(self) -> int:
        """Tokens in front of a source's pieces."""
        return len(self.directions[0].prefix)

    def direction_of(self, pair: Pair) -> Direction:
        """A direction that a pair may be of, by the tokens that ask for it."""
        tag, first = int(pair.source[0]), int(pair.target[0])
        for one in self.directions:
            if one.tag in (None, tag) and one.start_token in (None, first):
                return one
        return self.directions[0]

    @property
    def has_opposites(self) -> bool:
        """Whether a direction is there in which another one's translations can be read back.

        What reads them puts a tag in front and EOS behind, and gives no token to start with.
        """
        if not self.ends_source or any(one.start_tokens for one in self.directions):
            return False
        pairs = {(one.source, one.target) for one in self.directions}
        return any((target, source) in pairs for source, target in pairs)


def material_of(
    checkpoint: Checkpoint, text: dict[str, list[str]], options: ExportOptions
) -> Material:
    """A trained network, and held-out lines by language, aligned."""
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

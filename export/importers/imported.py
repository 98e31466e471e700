"""What every format's file gives, and how it says that a model cannot be imported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from export.importers.arrangement import Arrangement
from model.network_config import ModelConfig
from model.tokenizer import EOS_ID
from service.models.bundle import DecodingDefaults, Moses


class SourceError(ValueError):
    """A model that cannot be imported; the message names file, key, value and what is supported."""


LogProbs = Callable[[Sequence[int], Sequence[int]], Tensor]
"""Ids of the source as the format has them, and of the decoder's input, to log-probabilities [T, V]."""
Encode = Callable[[str, str], Sequence[int]]
"""A tag, or nothing, and a text to ids as the format has them."""


@dataclass(frozen=True)
class Oracle:
    """The library that the format is of, with the very same model."""

    name: str
    log_probs: LogProbs
    encode: Encode | None = None
    """None where nothing but the service's own tokenizer cuts texts."""


@dataclass(frozen=True)
class Side:
    """The vocabulary of the source or of the target."""

    model: Path
    """SentencePiece's, or the merges of a BPE; see `Imported.moses`."""
    ids: Mapping[str, int]
    """The format's own ids by piece."""
    arrangement: Arrangement
    """Where they are in the bundle."""


@dataclass(frozen=True)
class Imported:
    """A model of others: everything that a bundle is made of, but for text to calibrate and prove it with."""

    format: str
    config: ModelConfig
    weights: Mapping[str, Tensor]
    source: Side
    target: Side
    max_length: int
    """Tokens of a source or a translation, EOS counted."""
    decoding: DecodingDefaults
    files: Sequence[Path]
    """All that it was read from."""
    source_languages: Sequence[str] = ()
    """Codes as the format has them, as far as it says."""
    target_languages: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    """By code, the piece in front of the source that asks for a target."""
    languages: Mapping[str, str] = field(default_factory=dict)
    """By code, the piece in front of a source in a language, and of a translation into it."""
    source_start: int | None = None
    """The format's id of a token in front of every source."""
    target_start: int | None = None
    """That of one which every translation begins with, and which is no part of its text."""
    ends_source: bool = True
    """Whether EOS stands behind a source."""
    suppressed: Sequence[int] = ()
    """The bundle's ids of tokens that may not be produced, and leave their probability to the others."""
    moses: Moses | None = None
    """How words are cut before BPE, where SentencePiece does not cut the text."""
    rules: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """What is done to a source before it is cut into pieces: names and parameters of text rules."""
    licence: str = ""
    oracle: Callable[[], Oracle | None] = lambda: None
    """None where the library is not installed."""

    @property
    def source_end(self) -> tuple[int, ...]:
        """The bundle's ids behind a source's pieces."""
        return (EOS_ID,) if self.ends_source else ()

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """Those, and ids of the target that are no tokens."""
        order = self.target.arrangement.order
        absent = [id for id, old in enumerate(order) if old is None]
        return tuple(sorted({*absent, *self.suppressed}))

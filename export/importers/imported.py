"""The common result of all formats, and the error for models that cannot be imported."""

import re
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
    """The model cannot be imported; the message names file, key, value and what is supported."""


NO_MEMORY = re.compile(r"can(?:'t|not) allocate memory|bad.alloc|failed to allocate", re.IGNORECASE)
"""What torch, ONNX Runtime, CTranslate2 and the operating system say if memory is exhausted."""


def is_out_of_memory(error: BaseException) -> bool:
    """Check whether an error of any library, or its cause, says that memory is exhausted."""
    cause = error.__cause__
    return (
        isinstance(error, MemoryError)
        or bool(NO_MEMORY.search(str(error)))
        or (cause is not None and is_out_of_memory(cause))
    )


LogProbs = Callable[[Sequence[int], Sequence[int]], Tensor]
"""Maps the format's ids of the source and of the decoder's input to log-probabilities [T, V]."""
Encode = Callable[[str, str], Sequence[int]]
"""Maps a tag, which may be empty, and a text to the format's ids."""


@dataclass(frozen=True)
class Oracle:
    """The format's own library with the same model, to compare with."""

    name: str
    log_probs: LogProbs
    encode: Encode | None = None
    """None if the library does not tokenize text."""


@dataclass(frozen=True)
class Side:
    """The vocabulary of the source or of the target."""

    model: Path
    """SentencePiece model, or BPE merges; see `Imported.moses`."""
    ids: Mapping[str, int]
    """The format's ids by piece."""
    arrangement: Arrangement
    """The mapping of these ids to the bundle's."""


@dataclass(frozen=True)
class Imported:
    """An imported model: everything for a bundle except text for calibration and verification."""

    format: str
    config: ModelConfig
    weights: Mapping[str, Tensor]
    source: Side
    target: Side
    max_length: int
    """Maximum number of tokens of a source or a translation, including EOS."""
    decoding: DecodingDefaults
    files: Sequence[Path]
    """All files that the model was read from."""
    source_languages: Sequence[str] = ()
    """The format's codes; empty if the model does not name its languages."""
    target_languages: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    """By code, the piece at the beginning of a source that names the target language."""
    languages: Mapping[str, str] = field(default_factory=dict)
    """By code, the piece at the beginning of a source in a language and of a translation into it."""
    source_start: int | None = None
    """The format's id of a token that every source begins with."""
    target_start: int | None = None
    """The format's id of a token that every translation begins with, and that is not part of its text."""
    ends_source: bool = True
    """Whether EOS follows a source."""
    suppressed: Sequence[int] = ()
    """The bundle's ids of tokens that must not be produced; their probability goes to the others."""
    moses: Moses | None = None
    """How words are tokenized before BPE; None for SentencePiece."""
    rules: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Names and parameters of text rules that a source needs before it is tokenized."""
    licence: str = ""
    oracle: Callable[[], Oracle | None] = lambda: None
    """Loads the format's library; returns None if it is not installed."""

    @property
    def source_end(self) -> tuple[int, ...]:
        """The bundle's ids after a source's pieces."""
        return (EOS_ID,) if self.ends_source else ()

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """`suppressed`, and the target's ids of no token."""
        order = self.target.arrangement.order
        absent = [id for id, format_id in enumerate(order) if format_id is None]
        return tuple(sorted({*absent, *self.suppressed}))

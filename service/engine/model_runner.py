"""The interface between engine and model. `runner.py` implements it with ONNX Runtime, tests with a fake.

Sentences are packed: several may share a row of the caches (see `packing.py`).

Shapes: B sentences, K beams, G packs of n sentences, L cache entries of a pack, C rows of sources (of a pack
or a sentence each), S source positions of one, t steps.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from service.engine.sources import Cross, Sources
from service.engine.types import Floats, Ints, RunPlan

Caches = Any
"""The self-attention caches that a run returns; opaque to all but the runner."""
LARGE_ALIGNMENT = 512
"""Tokens of both sides, from which alignments run one at a time: 512 + 1,024 tokens take 110 MB."""


@dataclass(frozen=True, slots=True)
class PackedState:
    """The input state of a run. The first n of B sentences are the first pack."""

    rows: NDArray[np.void]
    """[B] of `types.ROW`"""
    ids: Ints
    """[B, K]"""
    cum_log_probs: Floats
    """[B, K]"""
    ancestors: Floats
    """[G, n K, L], the beams of each sentence in turn."""
    row: Ints
    """[G, L], the row of each entry in the previous run's caches."""
    entry: Ints
    """[G, L], the position of each entry in that row."""
    source_row: Ints
    """[C, S], the row of each position among the `Sources`."""
    source_entry: Ints
    """[C, S], the position in that row."""
    source_bias: Floats
    """[B, S], 0 at each sentence's own positions, MASKED elsewhere."""


@dataclass(slots=True)
class PackedRun:
    """The result of a few steps, in the order of the input's sentences."""

    ids: Ints
    """[B, K]"""
    cum_log_probs: Floats
    """[B, K]"""
    finished: Ints
    """[B]"""
    best: Floats
    """[B]"""
    ancestors: Floats
    """[B, K, L], over the entries of its pack in `caches`."""
    caches: Caches
    scores: Floats
    """[t, B, 2K], best first."""
    tokens: Ints
    """[t, B, 2K]"""
    parents: Ints
    """[t, B, 2K]"""


class ModelRunner(Protocol):
    """A model. Its methods may be called from any thread."""

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        """Return the cross-attention keys and values, [B, H, S, D] each, in the memory of the process."""

    def new_sources(self, pad_id: int) -> Sources:
        """Return the sources of a new batch, which keep such keys and values where `decode` reads them."""

    def decode(
        self,
        state: PackedState,
        caches: Caches | None,
        cross: Cross,
        plan: RunPlan,
    ) -> PackedRun:
        """Decode as many steps as the plan says; its bans refer to packs and the positions in them.

        Raises:
            MemoryError: the run needs more memory than there is; a smaller batch may need less.
        """

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """Return the log-probabilities of whole translations, [B]."""

    def release_memory(self, caches: Caches | None) -> None:
        """Return unused memory to the system; `caches` stay valid for the next run."""

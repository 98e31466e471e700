"""What the engine asks of a model, and what it gets; `runner.py` has ONNX Runtime do it, tests a fake.

Sentences reach it packed: several may share a row of the caches (see `packing.py`).

Shapes: B sentences, K beams, G packs of n sentences, L cache entries of a pack, C rows of sources (of a pack
or a sentence each), S source positions of one, t steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from service.engine.types import Floats, Ints, RunPlan

Caches = Any
"""The self-attention caches that a run left behind; only the runner looks inside."""


@dataclass(frozen=True, slots=True)
class PackedState:
    """What a run starts from; the first n of B sentences are the first pack."""

    rows: NDArray[np.void]
    """[B] of `types.ROW`"""
    ids: Ints
    """[B, K]"""
    cum_log_probs: Floats
    """[B, K]"""
    ancestors: Floats
    """[G, n K, L], the sentences' beams one after another."""
    row: Ints
    """[G, L], where in the previous run's caches each entry is; so is the next."""
    entry: Ints
    """[G, L]"""
    source_row: Ints
    """[C, S], where among the sources each position is; so is the next."""
    source_entry: Ints
    """[C, S]"""
    source_bias: Floats
    """[B, S], 0 at each sentence's own positions in that row, MASKED elsewhere."""


@dataclass(slots=True)
class PackedRun:
    """What a few steps gave, in the order of the sentences they began with."""

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
    """[t, B, 2K], best first; so are the next two."""
    tokens: Ints
    parents: Ints


class ModelRunner(Protocol):
    """A model, safe to call from many threads."""

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        """Cross-attention keys and values, [B, H, S, D] each."""

    def decode(
        self,
        state: PackedState,
        caches: Caches | None,
        cross: Sequence[NDArray[np.floating]],
        plan: RunPlan,
    ) -> PackedRun:
        """As many steps as the plan says, which names packs and the places in them."""

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """Log-probabilities of whole translations, [B]."""

    def release_memory(self, caches: Caches | None) -> None:
        """Give back to the system what runs took and no longer use; `caches` are still good for the next."""

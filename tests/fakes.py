"""Fakes for the engine's model without graphs and weights, which check the contract of each call."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.model_runner import PackedRun, PackedState
from service.engine.sources import HostSources
from service.engine.types import Floats, Ints, RunPlan, SpecialIds

SPECIAL = SpecialIds(pad=0, bos=2, eos=3)
JUNK = 9


class EchoRunner:
    """A model that "translates" every source into itself, token by token, with one real beam.

    Its caches contain the tokens of each pack, with one entry per beam and step. Every run checks that the
    entries that the engine gathered and unmasked are exactly what each sentence has decoded so far.
    """

    def __init__(self, seconds_per_step: float = 0.0) -> None:
        self.seconds_per_step = seconds_per_step
        self.fail_on: set[int] = set()
        """Source tokens with which a run fails."""
        self.largest_batch = 0
        self.hold = threading.Event()
        self.hold.set()

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        """Return the source's ids as keys: [B, 1, S, 1]."""
        assert ((source_bias == 0) == (source_ids != SPECIAL.pad)).all()
        return [source_ids[:, None, :, None].astype(np.float32)]

    def new_sources(self, pad_id: int) -> HostSources:
        """See ModelRunner."""
        return HostSources(lambda *run: self.encode(*run), pad_id)  # of a subclass, too

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """Return the same score for all."""
        return np.zeros(len(source_ids), np.float32)

    def release_memory(self, caches: Any) -> None:
        """Do nothing."""

    def decode(
        self,
        state: PackedState,
        caches: Any,
        cross: Sequence[NDArray[np.floating]],
        plan: RunPlan,
    ) -> PackedRun:
        """Emit the source up to its EOS."""
        assert self.hold.wait(60)
        time.sleep(self.seconds_per_step * plan.steps)
        sources = sources_of(state, cross)
        rows, width = state.ids.shape
        packs = len(state.row)
        self.largest_batch = max(self.largest_batch, rows)
        if self.fail_on & set(sources.ravel().tolist()):
            raise RuntimeError("the graph failed")
        past = np.zeros((1, 1), np.int64) if caches is None else caches
        entries = past[state.row, state.entry]  # [G, L]
        ancestors = state.ancestors.reshape(rows, width, -1)
        _check_rows(state, entries, ancestors, sources)
        size = rows // packs
        # masks of a step's entries in their pack
        own = np.full((rows, width, size * width), -1e9, np.float32)
        for row, beam in np.ndindex(rows, width):
            own[row, beam, row % size * width + beam] = 0
        ids, cum_log_probs = state.ids, state.cum_log_probs
        position, finished = (state.rows[name][:, None] for name in ("position", "finished"))
        scores, tokens = [], []
        for _ in range(plan.steps):
            entries = np.concatenate((entries, ids.reshape(packs, -1)), axis=1)
            ancestors = np.concatenate((ancestors, own), axis=2)
            ancestors = np.repeat(ancestors[:, :1], width, axis=1)  # all continue beam 0
            place = np.minimum(position + 1, sources.shape[1] - 1)
            token = np.take_along_axis(sources, place, axis=1)  # [B, 1]; the tag is skipped
            step_tokens = np.full((rows, 2 * width), JUNK)
            step_tokens[:, :1] = token
            step_scores = cum_log_probs[:, :1] - 0.5 - np.arange(2 * width, dtype=np.float32)
            scores.append(step_scores)
            tokens.append(step_tokens)
            ends = token == SPECIAL.eos
            finished = finished + ends
            ids = np.where(ends, JUNK, np.repeat(token, width, axis=1))
            cum_log_probs = np.concatenate(
                (step_scores[:, :1], np.full((rows, width - 1), -1e9)), axis=1, dtype=np.float32
            )
            position = position + 1
            if (finished[:, 0] >= state.rows["beam_size"]).sum() >= plan.stop_after:
                break
        parents = np.zeros((len(scores), rows, 2 * width), np.int64)
        return PackedRun(
            ids,
            cum_log_probs,
            finished[:, 0],
            state.rows["best"],
            ancestors,
            entries,
            np.stack(scores),
            np.stack(tokens),
            parents,
        )


def sources_of(state: PackedState, cross: Sequence[NDArray[np.floating]]) -> Ints:
    """Return each sentence's source [B, S], as gathered and unmasked by the engine."""
    gathered = cross[0][state.source_row, 0, state.source_entry, 0].astype(np.int64)  # [C, S]
    share = len(state.rows) // len(gathered)
    sources = np.full((len(state.rows), int(state.rows["source_length"].max())), SPECIAL.pad)
    for row, bias in enumerate(state.source_bias):
        source = gathered[row // share][bias == 0]
        sources[row, : len(source)] = source
    return sources


def _check_rows(state: PackedState, entries: Ints, ancestors: Floats, sources: Ints) -> None:
    """Check that every row sees exactly what it has decoded, and that its source has the given length."""
    size = len(state.rows) // len(entries)
    for row, known in enumerate(state.rows):
        seen = entries[row // size][ancestors[row, 0] == 0].tolist()
        done, length = int(known["position"]), int(known["source_length"])
        assert seen == [SPECIAL.bos, *sources[row, 1:done].tolist()][:done], (
            "a cache row is not its own"
        )
        assert sources[row, length - 1] == SPECIAL.eos, "a source has another length"


class Faults:
    """An `on_fault` callback that counts faults by kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def __call__(self, kind: str, count: int) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + count


def echo_source(length: int, first: int = 10) -> list[int]:
    """Return a source of `length` distinct tokens between a tag and EOS; its echo is [first, ...]."""
    return [1, *range(first, first + length), SPECIAL.eos]


def echo_of(source: Sequence[int]) -> tuple[int, ...]:
    """Return EchoRunner's translation of a source."""
    return tuple(source[1:-1])

"""What a run of the decoder gathers from the run before and from the sources: compaction, who shares a row.

Entries that no live beam descends from are left behind. Rows are as long as the longest, and a batch holds
sentences that have just begun beside others near their end: a long one and a short one in one row, a pack,
leave little padding, and attention has fewer, larger products. Masks keep them apart. Pure numpy.

Shapes: B sentences, K beams, G packs of n sentences, L cache entries of a pack, C rows of sources (a pack
or a sentence each), S source positions of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.model_runner import Caches, ModelRunner, PackedRun, PackedState
from service.engine.types import MASKED, DecoderState, Floats, Ints, RunPlan

ROUND = 4
"""Lengths are rounded up to multiples, so that memory is asked for in few different sizes."""
LARGEST = 4
"""Sentences in a pack."""
AS_MUCH_AGAIN = 16
"""So many queries of a pack make attention to an entry twice as dear as reading it is: by throughput, 14 to
20 are best, and 8 and 27 up to 2 % behind."""


@dataclass(slots=True)
class DecoderRun:
    """What a few steps gave, in the order of the state they began with."""

    state: DecoderState
    """The same rows, so many steps on."""
    caches: Caches
    scores: Floats
    """[t, B, 2K], best first; so are the next two."""
    tokens: Ints
    parents: Ints


def decode(
    runner: ModelRunner,
    state: DecoderState,
    caches: Caches | None,
    cross: Sequence[NDArray[np.floating]],
    plan: RunPlan,
) -> DecoderRun:
    """Pack the sentences, take the steps of `plan`, and unpack what they gave."""
    packing = pack(state)
    packed_plan = replace(plan, banned=packing.queries(plan.banned))
    run = runner.decode(packing.state, caches, cross, packed_plan)
    return packing.unpack(state, run)


@dataclass(frozen=True, slots=True)
class Packing:
    """A state whose sentences are packed, and where each has gone."""

    state: PackedState
    order: Ints
    """[B], the row of the state that is in each place; the first n are the first pack."""
    place: Ints
    """[B], the place of each row of the state."""

    @property
    def size(self) -> int:
        """Sentences in a pack."""
        return len(self.order) // len(self.state.row)

    def queries(self, banned: Ints) -> Ints:
        """[N, 3]: rows, beams and tokens become packs, queries and tokens."""
        if not len(banned):
            return banned
        rows, beams, tokens = banned.T
        pack_index, member = np.divmod(self.place[rows], self.size)
        width = self.state.ids.shape[1]
        return np.stack((pack_index, member * width + beams, tokens), axis=1)

    def unpack(self, before: DecoderState, run: PackedRun) -> DecoderRun:
        """What a run gave, in the order of the state before; only the caches stay where they are."""
        place, rows = self.place, before.rows.copy()
        rows["position"] += len(run.scores)
        rows["finished"], rows["best"] = run.finished[place], run.best[place]
        rows["cache"], rows["place"] = place // self.size, place
        ids, cum_log_probs = run.ids[place], run.cum_log_probs[place]
        state = DecoderState(rows, ids, cum_log_probs, run.ancestors[place])
        candidates = run.scores[:, place], run.tokens[:, place], run.parents[:, place]
        return DecoderRun(state, run.caches, *candidates)


def pack(state: DecoderState) -> Packing:
    """Put those sentences together that leave the least padding."""
    live: NDArray[np.bool_] = state.ancestors.max(axis=1) > MASKED / 2  # [B, L']
    rows, width = state.ids.shape
    order, size, source_size = _arrange(live.sum(axis=1), state.rows["source_length"], width)

    entries = _Layout(live[order], size)
    sentence = order[entries.place]
    ancestors = np.full((rows // size, size, width, entries.width), MASKED, np.float32)
    member = entries.place % size
    ancestors[entries.at, member, :, entries.column] = state.ancestors[sentence, :, entries.old]

    lengths = state.rows["source_length"][order]
    positions = _Layout(np.arange(lengths.max()) < lengths[:, None], source_size)
    bias = np.full((rows, positions.width), MASKED, np.float32)
    bias[positions.place, positions.column] = 0

    packed = PackedState(
        state.rows[order],
        state.ids[order],
        state.cum_log_probs[order],
        ancestors.reshape(rows // size, size * width, entries.width),
        entries.spread(state.rows["cache"][sentence]),
        entries.spread(entries.old),
        positions.spread(state.rows["source"][order[positions.place]]),
        positions.spread(positions.old),
        bias,
    )
    return Packing(packed, order, np.argsort(order))


class _Layout:
    """What B rows have, side by side in the rows of G packs: for each thing, from where to where."""

    def __init__(self, present: NDArray[np.bool_], size: int) -> None:
        """Pack what is `present` [B, N], `size` rows to a pack."""
        self.packs = len(present) // size
        self.place, self.old = np.nonzero(present)
        self.at = self.place // size
        firsts = np.searchsorted(self.at, np.arange(self.packs))
        self.column = np.arange(len(self.at)) - firsts[self.at]
        self.width = max(1, -(-(int(self.column.max(initial=-1)) + 1) // ROUND)) * ROUND

    def spread(self, values: Ints) -> Ints:
        """One value for each thing, where it is to be, [G, width]; 0 where nothing is."""
        spread = np.zeros((self.packs, self.width), np.int64)
        spread[self.at, self.column] = values
        return spread


def _arrange(counts: Ints, lengths: Ints, width: int) -> tuple[Ints, int, int]:
    """An order of sentences, and how many make a pack, of entries and of sources: what costs the least.

    Args:
        counts: cache entries of each.
        lengths: source positions of each.
        width: beams of each.

    Sentences are dealt to the packs by falling length, back and forth; length is that of the one, of the
    other, or of both. Sources have a row each where that is cheaper.
    """
    rows = len(counts)
    best = (np.arange(rows), 1, 1)
    sizes = [size for size in range(2, LARGEST + 1) if rows % size == 0]
    if not sizes:
        return best
    alone = rows * (AS_MUCH_AGAIN + width)
    sources_alone = alone * int(lengths.max())
    least = alone * int(counts.max()) + sources_alone
    falling = np.argsort(-np.stack((counts, lengths, counts + lengths)), axis=1, kind="stable")
    for size in sizes:
        dealt = falling.reshape(len(falling), size, -1).copy()
        dealt[:, 1::2] = dealt[:, 1::2, ::-1].copy()
        together = rows // size * (AS_MUCH_AGAIN + size * width)
        entries = together * counts[dealt].sum(axis=1).max(axis=1)
        sources = together * lengths[dealt].sum(axis=1).max(axis=1)
        costs = entries + np.minimum(sources, sources_alone)
        chosen = int(costs.argmin())
        if costs[chosen] < least:
            least = int(costs[chosen])
            source_size = size if sources[chosen] < sources_alone else 1
            best = dealt[chosen].T.ravel(), size, source_size
    return best

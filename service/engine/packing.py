"""Chooses the cache entries for a run of the decoder, and which sentences share a row. Pure numpy.

Entries from which no live beam descends are dropped. All rows are padded to the longest, and a batch has
short and long histories. So a long and a short one may share a row, as a pack: that leaves less padding, and
attention has fewer, larger products. Masks keep the sentences of a pack apart.

Shapes: B sentences, K beams, G packs of n sentences, L cache entries of a pack, C rows of sources (a pack
or a sentence each), S source positions of such a row.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.engine.model_runner import Caches, ModelRunner, PackedRun, PackedState
from service.engine.sources import Cross
from service.engine.types import MASKED, DecoderState, Floats, Ints, RunPlan

ROUND = 4
"""Lengths are rounded up to multiples, so that few different sizes are allocated."""
LARGEST = 4
"""Maximum sentences in a pack."""
AS_MUCH_AGAIN = 16
"""The cost of reading a cache entry, in queries that attend to it. In throughput, 14 to 20 are best; 8 and 27
are up to 2 % slower."""


@dataclass(slots=True)
class DecoderRun:
    """The result of a few steps, in the order of the state before them."""

    state: DecoderState
    """The same rows after the steps."""
    caches: Caches
    scores: Floats
    """[t, B, 2K], best first."""
    tokens: Ints
    """[t, B, 2K]"""
    parents: Ints
    """[t, B, 2K]"""


def decode(
    runner: ModelRunner,
    state: DecoderState,
    caches: Caches | None,
    cross: Cross,
    plan: RunPlan,
    before_run: Callable[[], None] = lambda: None,
    keys_multiple: int = 1,
) -> DecoderRun:
    """Pack the sentences, call `before_run`, decode the steps of `plan`, and unpack the result."""
    packing = pack(state, keys_multiple)
    packed_plan = replace(plan, banned=packing.queries(plan.banned))
    before_run()
    run = runner.decode(packing.state, caches, cross, packed_plan)
    return packing.unpack(state, run)


@dataclass(frozen=True, slots=True)
class Packing:
    """A packed state, and the permutation of its sentences."""

    state: PackedState
    order: Ints
    """[B], the row of the original state at each place; the first n are the first pack."""
    place: Ints
    """[B], the place of each row of the original state."""

    @property
    def size(self) -> int:
        """Number of sentences in a pack."""
        return len(self.order) // len(self.state.row)

    def queries(self, banned: Ints) -> Ints:
        """Map bans [N, 3] from (row, beam, token) to (pack, query, token)."""
        if not len(banned):
            return banned
        rows, beams, tokens = banned.T
        pack_index, member = np.divmod(self.place[rows], self.size)
        width = self.state.ids.shape[1]
        return np.stack((pack_index, member * width + beams, tokens), axis=1)

    def unpack(self, before: DecoderState, run: PackedRun) -> DecoderRun:
        """Return the result of a run in the original order. The caches are not moved."""
        place, rows = self.place, before.rows.copy()
        rows["position"] += len(run.scores)
        rows["finished"], rows["best"] = run.finished[place], run.best[place]
        rows["cache"], rows["place"] = place // self.size, place
        ids, cum_log_probs = run.ids[place], run.cum_log_probs[place]
        state = DecoderState(rows, ids, cum_log_probs, run.ancestors[place])
        candidates = run.scores[:, place], run.tokens[:, place], run.parents[:, place]
        return DecoderRun(state, run.caches, *candidates)


def pack(state: DecoderState, keys_multiple: int = 1) -> Packing:
    """Pack the sentences so that the run costs the least; see `EngineConfig.keys_multiple`.

    Items are moved by masks, for which numpy keeps Python's lock. It releases the lock for index arrays, and
    then waits until another thread gives it back.
    """
    live: NDArray[np.bool_] = state.ancestors.max(axis=1) > MASKED / 2  # [B, L']
    counts, width = live.sum(axis=1), state.ids.shape[1]
    order, size, source_size = _arrange(counts, state.rows["source_length"], width, keys_multiple)

    rows = state.rows[order]
    entries = _Layout(live[order], counts[order], size)
    ancestors = np.full((len(rows), width, entries.width), MASKED, np.float32)
    ancestors[_of_each_beam(entries.own, width)] = state.ancestors[order][
        _of_each_beam(entries.present, width)
    ]

    lengths = rows["source_length"]
    positions = _Layout(np.arange(lengths.max()) < lengths[:, None], lengths, source_size)
    bias = np.full((len(rows), positions.width), MASKED, np.float32)
    bias[positions.own] = 0

    packed = PackedState(
        rows,
        state.ids[order],
        state.cum_log_probs[order],
        ancestors.reshape(len(rows) // size, size * width, entries.width),
        entries.spread(np.repeat(rows["cache"], entries.counts)),
        entries.spread(entries.old),
        positions.spread(np.repeat(rows["source"], lengths)),
        positions.spread(positions.old),
        bias,
    )
    return Packing(packed, order, np.argsort(order))


def _of_each_beam(mask: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Repeat a mask [B, N] for each of `width` beams, [B, K, N]."""
    return mask[:, None].repeat(width, axis=1)


class _Layout:
    """Moves the items of B rows into the rows of G packs: the old and the new place of each item."""

    def __init__(self, present: NDArray[np.bool_], counts: Ints, size: int) -> None:
        """Pack the items that are `present` [B, N], `counts` [B] in each row, `size` rows to a pack."""
        self.present, self.counts = present, counts
        self.old = np.arange(present.shape[1])[None].repeat(len(present), axis=0)[present]
        """Column of each item."""
        in_pack = counts.reshape(-1, size)
        ends = in_pack.cumsum(axis=1)
        longest = int(ends[:, -1].max())
        self.width = max(1, -(-longest // ROUND)) * ROUND
        """Columns of a pack."""
        columns = np.arange(self.width)
        self.filled = columns < ends[:, -1:]
        """Whether a place in a pack has an item: [G, width]."""
        before = (ends - in_pack).reshape(-1, 1)
        self.own = (columns >= before) & (columns < ends.reshape(-1, 1))
        """Whether a place in the pack of a row has an item of that row: [B, width]."""

    def spread(self, values: Ints) -> Ints:
        """Put one value per item at its new place, [G, width]; other places are 0."""
        spread = np.full(self.filled.shape, 0, np.int64)
        spread[self.filled] = values
        return spread


def _arrange(counts: Ints, lengths: Ints, width: int, keys_multiple: int) -> tuple[Ints, int, int]:
    """Find the cheapest order of sentences and the sizes of packs, for cache entries and for sources.

    Sentences are dealt to the packs by decreasing length, back and forth. Length may be that of the entries,
    the sources, or both. Sources are not packed if that is cheaper.

    Args:
        counts: cache entries of each sentence.
        lengths: source positions of each sentence.
        width: number of beams.
        keys_multiple: what the beams of a pack should be a multiple of; if more than 1, this alone decides.

    Returns:
        The order [B], the size of packs of entries, and that of packs of sources.
    """
    rows = len(counts)
    best = (np.arange(rows), 1, 1)
    sizes = [size for size in range(2, LARGEST + 1) if rows % size == 0]
    if width % keys_multiple:
        sizes = [size for size in sizes if size * width % keys_multiple == 0][:1]
    elif keys_multiple > 1:
        sizes = []
    if not sizes:
        return best
    cost_per_entry = rows * (AS_MUCH_AGAIN + width)
    unpacked_sources_cost = cost_per_entry * int(lengths.max())
    least_cost = cost_per_entry * int(counts.max()) + unpacked_sources_cost
    if keys_multiple > 1:
        least_cost = sys.maxsize
    longest_first = np.argsort(
        -np.stack((counts, lengths, counts + lengths)), axis=1, kind="stable"
    )
    for size in sizes:
        dealt = longest_first.reshape(len(longest_first), size, -1).copy()
        dealt[:, 1::2] = dealt[:, 1::2, ::-1].copy()
        packed_cost_per_entry = rows // size * (AS_MUCH_AGAIN + size * width)
        entries = packed_cost_per_entry * counts[dealt].sum(axis=1).max(axis=1)
        sources = packed_cost_per_entry * lengths[dealt].sum(axis=1).max(axis=1)
        costs = entries + np.minimum(sources, unpacked_sources_cost)
        cheapest = int(costs.argmin())
        if costs[cheapest] < least_cost:
            least_cost = int(costs[cheapest])
            source_size = size if sources[cheapest] < unpacked_sources_cost else 1
            best = dealt[cheapest].T.ravel(), size, source_size
    return best

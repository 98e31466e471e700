"""What a run of the decoder gathers from the run before and from the sources: compaction, who shares a row.

Entries that no live beam descends from are left behind. Rows are as long as the longest, and a batch holds
sentences that have just begun beside others near their end: a long one and a short one in one row, a pack,
leave little padding, and attention has fewer, larger products. Masks keep them apart. Pure numpy.

Shapes: B sentences, K beams, G packs of n sentences, L cache entries of a pack, C rows of sources (a pack
or a sentence each), S source positions of one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.types import MASKED, DecoderState, Floats, Ints

ROUND = 4
"""Lengths are rounded up to multiples, so that memory is asked for in few different sizes."""
LARGEST = 4
"""Sentences in a pack."""
AS_MUCH_AGAIN = 16
"""So many queries of a pack make attention to an entry twice as dear as reading it is: by throughput, 14 to
20 are best, and 8 and 27 up to 2 % behind."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The rows of a state in another order, n to a pack."""

    order: Ints
    """[B], the row of the state that is in each place; the first n are the first pack."""
    place: Ints
    """[B], the place of each row of the state."""
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

    @property
    def size(self) -> int:
        """Sentences in a pack."""
        return len(self.order) // len(self.row)

    def queries(self, banned: Ints) -> Ints:
        """[N, 3]: rows, beams and tokens become packs, queries and tokens."""
        if not len(banned):
            return banned
        rows, beams, tokens = banned.T
        pack_index, member = np.divmod(self.place[rows], self.size)
        width = self.ancestors.shape[1] // self.size
        return np.stack((pack_index, member * width + beams, tokens), axis=1)


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

    return Packing(
        order,
        np.argsort(order),
        ancestors.reshape(rows // size, size * width, entries.width),
        entries.spread(state.rows["cache"][sentence]),
        entries.spread(entries.old),
        positions.spread(state.rows["source"][order[positions.place]]),
        positions.spread(positions.old),
        bias,
    )


def states_of(place: Ints, width: int, old_width: int) -> Ints:
    """Where among the previous run's recurrent states each beam's is, [B, K], K being `width`.

    `place` [B] are the sentences' rows in that run, with `old_width` beams each; a beam that was not there
    has any, as it is dead.
    """
    found: Ints = place[:, None] * old_width + np.minimum(np.arange(width), old_width - 1)
    return found


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

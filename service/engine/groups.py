"""What a run of the decoder gathers from the caches of the run before: compaction, and who shares a row.

Entries that no live beam descends from are left behind. Rows are as long as the longest, and a batch holds
sentences that have just begun beside others near their end: a long one and a short one in one row, a group,
leave little padding, and attention has fewer, larger products. The ancestor mask keeps them apart.
Pure numpy.

Shapes: B sentences, K beams, G groups of n sentences, L cache entries.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.engine.types import MASKED, DecoderState, Floats, Ints

ROUND_ENTRIES = 4
"""Lengths are rounded up to multiples, so that memory is asked for in few different sizes."""
LARGEST = 4
"""Sentences in a group; more waste more on attention to one another than they save on padding."""
WORTHWHILE = 0.95
"""What a larger group must leave of the rows' length, all together."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The rows of a state in another order, n to a group."""

    order: Ints
    """[B], the row of the state that is in each place; the first n are the first group."""
    ancestors: Floats
    """[G, n K, L], the sentences' beams one after another."""
    row: Ints
    """[G, L], where in the previous run's caches each entry is; so is the next."""
    entry: Ints
    """[G, L]"""

    @property
    def size(self) -> int:
        """Sentences in a group."""
        return len(self.order) // len(self.row)


def group(state: DecoderState) -> Groups:
    """Put those sentences together that leave the least padding."""
    live: NDArray[np.bool_] = np.any(state.ancestors > MASKED / 2, axis=1)  # [B, L']
    order, longest, size = _balanced(live.sum(axis=1))
    rows, width = state.ids.shape
    groups, length = rows // size, max(1, -(-longest // ROUND_ENTRIES)) * ROUND_ENTRIES
    ancestors = np.full((groups, size, width, length), MASKED, np.float32)
    row, entry = np.zeros((2, groups, length), np.int64)
    place, old = np.nonzero(live[order])  # of every entry: the sentence's new place, its old column
    at, member = np.divmod(place, size)
    column = np.arange(len(at)) - np.searchsorted(at, np.arange(groups))[at]
    sentence = order[place]
    row[at, column] = state.row[sentence]
    entry[at, column] = old
    ancestors[at, member, :, column] = state.ancestors[sentence, :, old]
    return Groups(order, ancestors.reshape(groups, size * width, length), row, entry)


def _balanced(counts: Ints) -> tuple[Ints, int, int]:
    """An order, the most entries that a group has in it, and the sentences of a group.

    Sentences are dealt to the groups by falling length, back and forth.
    """
    rows, falling = len(counts), np.argsort(-counts, kind="stable")
    best = (falling, int(counts.max()), 1)
    for size in range(2, LARGEST + 1):
        if rows % size:
            continue
        dealt = falling.reshape(size, -1).copy()
        dealt[1::2] = dealt[1::2, ::-1].copy()
        longest = int(counts[dealt].sum(axis=0).max())
        if longest * best[2] < WORTHWHILE * best[1] * size:
            best = (dealt.T.ravel(), longest, size)
    return best

"""The rows of a running batch: the decoder's state of each sentence, except the caches. Pure numpy.

The caches stay where the runner put them, and are not reordered when sentences join or leave. `packing.py`
decides which of their entries the next run gathers.

Shapes: B sentences, K beams, L cache entries, S source positions, H heads, D head dim.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.engine.types import (
    DEAD,
    MASKED,
    ROW,
    DecoderState,
    DecodingOptions,
    Floats,
    Ints,
    LengthNorm,
    StopRule,
)

NEVER = -(10**9)
"""Initial count of finished hypotheses if the search does not end by that count."""
ROUND_SOURCE = 4
ROUND_ROWS = 4
"""Lengths are rounded up to multiples, so that few different sizes are allocated."""


def empty_state() -> DecoderState:
    """Return a state without rows."""
    return DecoderState(
        rows=np.zeros(0, ROW),
        ids=np.zeros((0, 1), np.int64),
        cum_log_probs=np.zeros((0, 1), np.float32),
        ancestors=np.zeros((0, 1, 1), np.float32),
    )


def retire(state: DecoderState, kept: Sequence[int]) -> DecoderState:
    """Return the rows `kept` of `state`, narrowed to their largest beam size."""
    if not kept:
        return empty_state()
    indices = np.asarray(kept, dtype=np.int64)
    rows = state.rows[indices]
    width = int(rows["beam_size"].max())
    cum_log_probs = state.cum_log_probs[indices, :width]
    ancestors = state.ancestors[indices, :width]
    ancestors[cum_log_probs <= DEAD / 2] = MASKED
    return DecoderState(rows, state.ids[indices, :width], cum_log_probs, ancestors)


def admit(
    state: DecoderState,
    options: Sequence[DecodingOptions],
    sources: Sequence[int],
    lengths: Sequence[int],
    bos_id: int,
) -> DecoderState:
    """Append a row for each of `options` to `state`.

    `sources` are the rows of the new sentences in the `SourcePool`, and `lengths` their numbers of tokens.
    """
    if not len(options):
        return state
    old_rows, width, length = state.ancestors.shape
    needed = max(width if old_rows else 1, *(row_options.beam_size for row_options in options))
    count = old_rows + len(options)
    cum_log_probs = np.full((count, needed), DEAD, np.float32)
    cum_log_probs[:old_rows, :width] = state.cum_log_probs
    cum_log_probs[old_rows:, 0] = 0.0
    ids = np.full((count, needed), bos_id, np.int64)
    ids[:old_rows, :width] = state.ids
    ancestors = np.full((count, needed, length), MASKED, np.float32)
    ancestors[:old_rows, :width] = state.ancestors
    new_rows = np.zeros(len(options), ROW)
    new_rows["finished"] = [0 if row_options.stop_rule.counts else NEVER for row_options in options]
    new_rows["narrow"] = [row_options.stop_rule is StopRule.NARROW for row_options in options]
    new_rows["best"] = DEAD
    new_rows["beam_size"] = [row_options.beam_size for row_options in options]
    new_rows["length_penalty"] = [row_options.length_penalty for row_options in options]
    new_rows["likely"] = [_is_likely(row_options) for row_options in options]
    new_rows["source"], new_rows["source_length"] = sources, lengths
    return DecoderState(np.concatenate((state.rows, new_rows)), ids, cum_log_probs, ancestors)


def held_entries(state: DecoderState) -> int:
    """Return the memory that the last run left, in the unit of `DecodingSequence.footprint`."""
    packs = int(state.rows["cache"].max(initial=-1)) + 1
    sources = len(state.rows) * int(state.rows["source_length"].max(initial=0))
    return packs * int(state.ancestors.shape[2]) + sources // 4


def _is_likely(options: DecodingOptions) -> bool:
    """Check whether the graph can detect the end of the search: it tracks the best score only, by `wu`."""
    return (
        options.stop_rule is StopRule.LIKELY
        and options.num_hypotheses == 1
        and options.length_norm is LengthNorm.WU
    )


def force(state: DecoderState, row: int, token: int) -> None:
    """Replace the last token of a row's only beam by `token`, with log-probability 0.

    Valid only while the row has had a single beam, which is then the parent of all that the graph chose.
    """
    state.ids[row] = token
    state.cum_log_probs[row] = DEAD
    state.cum_log_probs[row, 0] = 0.0
    state.ancestors[row, 1:] = MASKED
    state.rows["finished"][row] = min(state.rows["finished"][row], 0)
    state.rows["best"][row] = DEAD


class SourcePool:
    """The cross-attention keys and values of the running sentences, one row each.

    There is one array [rows, H, S, D] per input of the decoder, with spare rows. S grows with the longest
    sentence, and shrinks when that saves half. Padding here costs memory, but no time.
    """

    def __init__(self) -> None:
        """Start with no rows and no memory."""
        self.arrays: list[NDArray[np.floating]] = []
        self._lengths: dict[int, int] = {}  # by row

    def retire(self, rows: Sequence[int]) -> None:
        """Free these rows."""
        for row in rows:
            del self._lengths[row]
        if not self._lengths:
            self.arrays = []
            return
        needed = _round_up(max(self._lengths.values()), ROUND_SOURCE)
        if needed <= 0.5 * self.arrays[0].shape[2]:
            self._resize(len(self.arrays[0]), needed)

    def admit(self, encoded: Sequence[NDArray[np.floating]], lengths: Sequence[int]) -> list[int]:
        """Add `encoded` [B, H, S, D] each, with `lengths` [B] positions in use; return the new rows.

        An empty pool keeps the arrays without copying them.
        """
        if not self._lengths:
            self.arrays = list(encoded)
            self._lengths = dict(enumerate(lengths))
            return list(self._lengths)
        needed, new_width = len(self._lengths) + len(lengths), encoded[0].shape[2]
        rows, _, width, _ = self.arrays[0].shape
        if needed > rows or new_width > width:
            rows = max(rows, _round_up(needed, ROUND_ROWS))
            self._resize(rows, max(width, _round_up(new_width, ROUND_SOURCE)))
        free_rows = [row for row in range(rows) if row not in self._lengths]
        new_rows = free_rows[: len(lengths)]
        for array, new_array in zip(self.arrays, encoded, strict=True):
            array[new_rows, :, :new_width] = new_array
        self._lengths.update(zip(new_rows, lengths, strict=True))
        return new_rows

    def _resize(self, rows: int, width: int) -> None:
        """Copy everything to arrays of `rows` rows and `width` positions."""
        old_rows, _, old_width, _ = self.arrays[0].shape
        kept_width = min(width, old_width)
        resized = [
            np.zeros((rows, array.shape[1], width, array.shape[3]), array.dtype)
            for array in self.arrays
        ]
        for new_array, old_array in zip(resized, self.arrays, strict=True):
            new_array[:old_rows, :, :kept_width] = old_array[:, :, :kept_width]
        self.arrays = resized


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Ints, Floats]:
    """Return rows of ids as one array [B, S], and their additive mask [B, S]."""
    width = max(map(len, rows))
    ids = np.full((len(rows), width), pad_id, np.int64)
    bias = np.zeros((len(rows), width), np.float32)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        bias[index, len(row) :] = MASKED
    return ids, bias


def _round_up(length: int, multiple: int) -> int:
    return max(1, -(-length // multiple)) * multiple

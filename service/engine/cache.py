"""The rows of a running batch: what the next run of the decoder knows of each sentence. Pure numpy.

The caches themselves stay where the runner put them, and their rows are not moved either when sentences
leave and join: `groups.py` decides what the next run gathers from them.

Shapes: B sentences, K beams, L cache entries, S source positions, H heads, D head dim.
"""

from collections.abc import Sequence as Items
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.types import (
    DEAD,
    MASKED,
    DecoderState,
    DecodingOptions,
    Floats,
    Ints,
    StopRule,
)

NEVER = -(10**9)
"""Hypotheses that a row "has" whose search does not end after so many as it has beams."""
ROUND_SOURCE = 4
ROUND_ROWS = 4
"""Lengths are rounded up to multiples, so that memory is asked for in few different sizes."""


def empty_state() -> DecoderState:
    """No rows."""
    return DecoderState(
        ids=np.zeros((0, 1), np.int64),
        totals=np.zeros((0, 1), np.float32),
        position=np.zeros((0, 1), np.int64),
        finished=np.zeros((0, 1), np.int64),
        best=np.zeros((0, 1), np.float32),
        beam_size=np.zeros((0, 1), np.int64),
        length_penalty=np.zeros((0, 1), np.float32),
        likely=np.zeros((0, 1), np.bool_),
        source=np.zeros(0, np.int64),
        ancestors=np.zeros((0, 1, 1), np.float32),
        row=np.zeros(0, np.int64),
    )


def retire(state: DecoderState, stays: Items[int]) -> DecoderState:
    """The rows `stays` of `state`, as wide as their widest beam."""
    if not stays:
        return empty_state()
    rows = np.asarray(stays, dtype=np.int64)
    beam_size = state.beam_size[rows]
    width = int(beam_size.max())
    totals = state.totals[rows, :width]
    ancestors = state.ancestors[rows, :width]
    ancestors[totals <= DEAD / 2] = MASKED
    return DecoderState(
        ids=state.ids[rows, :width],
        totals=totals,
        position=state.position[rows],
        finished=state.finished[rows],
        best=state.best[rows],
        beam_size=beam_size,
        length_penalty=state.length_penalty[rows],
        likely=state.likely[rows],
        source=state.source[rows],
        ancestors=ancestors,
        row=state.row[rows],
    )


def admit(
    state: DecoderState, options: Items[DecodingOptions], sources: Items[int], bos_id: int
) -> DecoderState:
    """The same rows, and below them one new row for each of `options`, with its source's row in the pool."""
    if not len(options):
        return state
    old, width, length = state.ancestors.shape
    new = len(options)
    needed = max(width if old else 1, *(one.beam_size for one in options))
    totals = np.full((old + new, needed), DEAD, np.float32)
    totals[:old, :width] = state.totals
    totals[old:, 0] = 0.0
    ids = np.full((old + new, needed), bos_id, np.int64)
    ids[:old, :width] = state.ids
    ancestors = np.full((old + new, needed, length), MASKED, np.float32)
    ancestors[:old, :width] = state.ancestors
    none = np.zeros((new, 1), np.int64)
    return DecoderState(
        ids=ids,
        totals=totals,
        position=np.concatenate((state.position, none)),
        finished=_below(
            state.finished, [0 if one.stop_rule is StopRule.FIRST else NEVER for one in options]
        ),
        best=_below(state.best, [DEAD] * new),
        beam_size=_below(state.beam_size, [one.beam_size for one in options]),
        length_penalty=_below(state.length_penalty, [one.length_penalty for one in options]),
        likely=_below(state.likely, [_is_likely(one) for one in options]),
        source=np.concatenate((state.source, np.asarray(sources, np.int64))),
        ancestors=ancestors,
        row=np.concatenate((state.row, none[:, 0])),
    )


def _below(column: NDArray[Any], values: Items[float]) -> NDArray[Any]:
    """A column [B, 1] with more values below it, of its own type."""
    return np.concatenate((column, np.array(values, column.dtype)[:, None]))


def _is_likely(options: DecodingOptions) -> bool:
    """Whether the graph itself sees that the search is done: it knows the best hypothesis only."""
    return options.stop_rule is StopRule.LIKELY and options.num_hypotheses == 1


def force(state: DecoderState, row: int, token: int) -> None:
    """Make `token` the last one of a row's only beam, at no cost in score, whatever the graph chose.

    Sound only while that beam has been the only one: then it is the parent of all that the graph chose.
    """
    state.ids[row] = token
    state.totals[row] = DEAD
    state.totals[row, 0] = 0.0
    state.ancestors[row, 1:] = MASKED
    state.finished[row] = np.minimum(state.finished[row], 0)
    state.best[row] = DEAD


class SourcePool:
    """Cross-attention keys and values of the running sentences, each in a row that is its own.

    One array for each of the decoder's, [rows, H, S, D], with room for more. S follows the longest sentence
    at hand, up at once and down when a quarter is to be saved: padding costs attention time.
    """

    def __init__(self) -> None:
        """Start with no rows and no memory."""
        self.arrays: list[NDArray[np.floating]] = []
        self.bias: Floats = np.zeros((0, 0), np.float32)
        """The additive mask, [rows, S]."""
        self._lengths: dict[int, int] = {}  # by row

    def retire(self, rows: Items[int]) -> None:
        """Free these rows."""
        for row in rows:
            del self._lengths[row]
        if not self._lengths:
            self.arrays = []
            return
        needed = _round_up(max(self._lengths.values()), ROUND_SOURCE)
        if needed <= 0.75 * self.bias.shape[1]:
            self._resize(len(self.bias), needed)

    def admit(self, encoded: Items[NDArray[np.floating]], lengths: Items[int]) -> list[int]:
        """Take in `encoded` [B, H, S, D] each, whose first `lengths` positions are tokens; their rows.

        An empty pool keeps the arrays themselves.
        """
        if not self._lengths:
            self.arrays, self.bias = list(encoded), _bias(lengths, encoded[0].shape[2])
            self._lengths = dict(enumerate(lengths))
            return list(self._lengths)
        needed, new_width = len(self._lengths) + len(lengths), encoded[0].shape[2]
        rows, width = self.bias.shape
        if needed > rows or new_width > width:
            self._resize(max(rows, _round_up(needed, ROUND_ROWS)), max(width, new_width))
        free = [row for row in range(len(self.bias)) if row not in self._lengths]
        places = free[: len(lengths)]
        for array, new in zip(self.arrays, encoded, strict=True):
            array[places, :, :new_width] = new
            array[places, :, new_width:] = 0
        self.bias[places] = _bias(lengths, self.bias.shape[1])
        self._lengths.update(zip(places, lengths, strict=True))
        return places

    def _resize(self, rows: int, width: int) -> None:
        """Move all to arrays of `rows` rows and `width` positions."""
        old_rows, old_width = self.bias.shape
        kept = min(width, old_width)
        resized = [
            np.zeros((rows, old.shape[1], width, old.shape[3]), old.dtype) for old in self.arrays
        ]
        bias = np.full((rows, width), MASKED, np.float32)
        for array, old in zip(resized, self.arrays, strict=True):
            array[:old_rows, :, :kept] = old[:, :, :kept]
        bias[:old_rows, :kept] = self.bias[:, :kept]
        self.arrays, self.bias = resized, bias


def _bias(lengths: Items[int], width: int) -> Floats:
    """The additive mask of so many tokens a row, [B, width]."""
    tokens = np.arange(width) < np.array(lengths)[:, None]
    return np.where(tokens, np.float32(0), np.float32(MASKED))


def pad(rows: Items[Items[int]], pad_id: int) -> tuple[Ints, Floats]:
    """Rows of ids as one array [B, S], and their additive mask [B, S]."""
    width = _round_up(max(map(len, rows)), ROUND_SOURCE)
    ids = np.full((len(rows), width), pad_id, np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids, _bias([len(row) for row in rows], width)


def _round_up(length: int, multiple: int) -> int:
    return max(1, -(-length // multiple)) * multiple

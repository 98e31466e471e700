"""The rows of a running batch: which row and which cache entries each sentence keeps. Pure numpy.

The caches themselves stay where the runner put them; this room decides what the next run gathers from
them. `retire`, `admit` and compaction cost nothing of their own: the gather at the head of the decoder's
graph (`row`, `entry`) does all three.

Shapes: B sentences, K beams, L cache entries, S source positions, H heads, D head dim.
"""

from collections.abc import Sequence as Items
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.types import DecoderState, DecodingOptions, Floats, Ints, StopRule

MASKED = -1e9
"""In an additive mask: not to be attended to."""
DEAD = -1e9
"""Log-probability of a beam that does not exist."""
NEVER = -(10**9)
"""Hypotheses that a row "has" whose search does not end after so many as it has beams."""
ROUND_ENTRIES = 4
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
        ancestors=np.zeros((0, 1, 1), np.float32),
        row=np.zeros(0, np.int64),
        entry=np.zeros((0, 1), np.int64),
    )


def keep_order(leaving: Items[bool]) -> list[int]:
    """Which old row each new row is, when the `leaving` ones go and the last ones fill their places.

    >>> keep_order([False, True, False, False])
    [0, 3, 2]
    """
    order = list(range(len(leaving)))
    index = 0
    while index < len(order):
        if not leaving[order[index]]:
            index += 1
        elif index == len(order) - 1:
            order.pop()
        else:
            order[index] = order.pop()
    return order


def retire_and_compact(state: DecoderState, order: Items[int]) -> DecoderState:
    """The rows `order` of `state`, with only the cache entries that a live beam descends from."""
    rows = np.asarray(order, dtype=np.int64)
    if not len(rows):
        return empty_state()
    totals = state.totals[rows]
    ancestors = state.ancestors[rows]
    ancestors[totals <= DEAD / 2] = MASKED
    live = (ancestors > MASKED / 2).any(axis=1)  # [B, L]
    length = _round_up(int(live.sum(axis=1).max()), ROUND_ENTRIES)
    entry = np.argsort(~live, axis=1, kind="stable")[:, :length]
    width = int(state.beam_size[rows].max())
    return DecoderState(
        ids=state.ids[rows, :width],
        totals=totals[:, :width],
        position=state.position[rows],
        finished=state.finished[rows],
        best=state.best[rows],
        beam_size=state.beam_size[rows],
        length_penalty=state.length_penalty[rows],
        likely=state.likely[rows],
        ancestors=np.take_along_axis(ancestors, entry[:, None, :], axis=2)[:, :width],
        row=state.row[rows],
        entry=np.take_along_axis(state.entry[rows], entry, axis=1),
    )


def admit(state: DecoderState, options: Items[DecodingOptions], bos_id: int) -> DecoderState:
    """The same rows, and below them one new row for each of `options`."""
    if not len(options):
        return state
    old, width = state.ids.shape
    length = state.entry.shape[1]
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
        ancestors=ancestors,
        row=np.concatenate((state.row, none[:, 0])),
        entry=np.concatenate((state.entry, np.zeros((new, length), np.int64))),
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
    """Cross-attention keys and values of the running sentences, rows in the order of the batch.

    One array for each of the decoder's, [rows, H, S, D], with room for more rows; the sentences at hand are a
    dense prefix of it, so that a run gets a view. S follows the longest sentence at hand, up at once and
    down when a quarter is to be saved: padding costs attention time.
    """

    def __init__(self) -> None:
        """Start with no rows and no memory."""
        self._arrays: list[NDArray[np.floating]] = []
        self._bias: Floats = np.zeros((0, 0), np.float32)
        self._lengths: list[int] = []

    def retire(self, order: Items[int]) -> None:
        """Keep the rows `order`, as `keep_order` gave them."""
        for new, old in enumerate(order):
            if new != old:
                for array in self._arrays:
                    array[new] = array[old]
                self._bias[new] = self._bias[old]
        self._lengths = [self._lengths[old] for old in order]
        needed = _round_up(max(self._lengths, default=0), ROUND_SOURCE)
        if needed <= 0.75 * self._bias.shape[1]:
            self._resize(len(self._bias), needed, self._arrays)

    def admit(self, encoded: Items[NDArray[np.floating]], lengths: Items[int]) -> None:
        """Append rows: `encoded` [B, H, S, D] each, of which the first `lengths` positions are tokens."""
        count, new_width = len(self._lengths), encoded[0].shape[2]
        rows, width = self._bias.shape
        if count + len(lengths) > rows or new_width > width:
            needed = max(rows, _round_up(count + len(lengths), ROUND_ROWS))
            self._resize(needed, max(width, new_width), encoded)
        place = slice(count, count + len(lengths))
        for array, new in zip(self._arrays, encoded, strict=True):
            array[place, :, :new_width] = new
            array[place, :, new_width:] = 0
        self._bias[place] = np.where(
            np.arange(self._bias.shape[1]) < np.array(lengths)[:, None], 0.0, MASKED
        )
        self._lengths += lengths

    def views(self) -> tuple[list[NDArray[np.floating]], Floats]:
        """The live rows of every array, and of the additive mask [B, S]."""
        count = len(self._lengths)
        return [array[:count] for array in self._arrays], self._bias[:count]

    def _resize(self, rows: int, width: int, like: Items[NDArray[np.floating]]) -> None:
        """Move what is live to arrays of `rows` rows and `width` positions, of the kind of `like`."""
        live, live_bias = self.views()
        kept = min(width, self._bias.shape[1])
        self._arrays = [
            np.zeros((rows, new.shape[1], width, new.shape[3]), new.dtype) for new in like
        ]
        self._bias = np.full((rows, width), MASKED, np.float32)
        for array, old in zip(self._arrays, live, strict=False):  # there is no old one at first
            array[: len(old), :, :kept] = old[:, :, :kept]
        self._bias[: len(live_bias), :kept] = live_bias[:, :kept]


def pad(rows: Items[Items[int]], pad_id: int) -> tuple[Ints, Floats]:
    """Rows of ids as one array [B, S], and their additive mask [B, S]."""
    width = _round_up(max(map(len, rows)), ROUND_SOURCE)
    ids = np.full((len(rows), width), pad_id, np.int64)
    bias = np.full((len(rows), width), MASKED, np.float32)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        bias[index, : len(row)] = 0.0
    return ids, bias


def _round_up(length: int, multiple: int) -> int:
    return max(1, -(-length // multiple)) * multiple

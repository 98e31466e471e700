"""The rows of a running batch: the decoder's state of each sentence, except caches and sources. Pure numpy.

The caches stay where the runner put them, and are not reordered when sentences join or leave. `packing.py`
decides which of their entries the next run gathers.

Shapes: B sentences, K beams, L cache entries.
"""

from collections.abc import Sequence

import numpy as np

from service.engine.types import (
    DEAD,
    MASKED,
    ROW,
    DecoderState,
    DecodingOptions,
    LengthNorm,
    StopRule,
)

NEVER = -(10**9)
"""Initial count of finished hypotheses if the search does not end by that count."""


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

    `sources` are the rows of the new sentences among the `Sources`, and `lengths` their numbers of tokens.
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

"""The rows of a batch when sentences join and leave."""

import numpy as np
import pytest

from service.engine import cache
from service.engine.types import (
    DEAD,
    MASKED,
    ROW,
    DecoderState,
    DecodingOptions,
    LengthNorm,
    StopRule,
)


def state_of(ancestors: list[list[list[float]]], cum_log_probs: list[list[float]]) -> DecoderState:
    mask = np.array(ancestors, np.float32)
    rows, width, _ = mask.shape
    known = np.zeros(rows, ROW)
    known["position"], known["best"], known["beam_size"] = 3, DEAD, width
    known["source"] = known["cache"] = np.arange(rows)
    ids = np.arange(rows * width).reshape(rows, width)
    return DecoderState(known, ids, np.array(cum_log_probs, np.float32), mask)


def test_remaining_rows_keep_their_state_and_dead_beams_have_no_entries() -> None:
    no = MASKED
    ancestors: list[list[list[float]]] = [
        [[0, no, no], [0, 0, no]],
        [[no, 0, no], [no, no, 0]],
        [[no, no, 0], [0, 0, 0]],
    ]
    kept = cache.retire(state_of(ancestors, [[-1, -2], [-3, -4], [-5, DEAD]]), [2, 0])
    assert kept.cum_log_probs.tolist() == [[-5, DEAD], [-1, -2]]
    assert kept.rows["cache"].tolist() == kept.rows["source"].tolist() == [2, 0]
    assert kept.ancestors.tolist() == [[[no, no, 0], [no] * 3], [[0, no, no], [0, 0, no]]]


def test_rows_refer_to_the_last_runs_caches_after_two_retirements() -> None:
    no = MASKED
    state = state_of([[[0, 0]], [[no, 0]], [[0, no]]], [[-1], [-1], [-1]])
    twice = cache.retire(cache.retire(state, [1, 2]), [0])
    assert twice.rows["cache"].tolist() == [1]
    assert twice.ancestors.tolist() == [[[no, 0]]]


@pytest.mark.parametrize("stays", [[0], [1], [0, 1]])
def test_rows_are_narrowed_to_the_largest_remaining_beam(stays: list[int]) -> None:
    state = state_of([[[0], [0]], [[0], [0]]], [[-1, DEAD], [-1, -2]])
    state.rows["beam_size"] = [1, 2]
    assert cache.retire(state, stays).ids.shape == (len(stays), max(stays) + 1)


def test_new_rows_have_no_cache_entries_and_one_live_beam() -> None:
    state = state_of([[[0, 0, 0, 0]]], [[-1]])
    wide = DecodingOptions(9, beam_size=3, length_penalty=0.5)
    narrow = DecodingOptions(9, beam_size=2, stop_rule=StopRule.LIKELY)
    grown = cache.admit(state, [wide, narrow], [7, 1], [5, 9], bos_id=2)
    assert grown.ids.shape == (3, 3)
    assert grown.rows["source"].tolist() == [0, 7, 1]
    assert grown.rows["source_length"].tolist() == [0, 5, 9]
    assert grown.rows["position"].tolist() == [3, 0, 0]
    assert grown.rows["finished"].tolist() == [0, 0, cache.NEVER]
    assert grown.rows["beam_size"].tolist() == [1, 3, 2]
    assert grown.rows["length_penalty"].tolist() == [0, 0.5, np.float32(0.6)]
    assert grown.rows["likely"].tolist() == [False, False, True]
    assert grown.ids[1:].tolist() == [[2] * 3] * 2
    assert (grown.ancestors[1:] == MASKED).all()
    assert grown.cum_log_probs[1:].tolist() == [[0, DEAD, DEAD]] * 2
    assert grown.cum_log_probs[0].tolist() == [-1, DEAD, DEAD]
    assert (grown.ancestors[0, 1:] == MASKED).all()


def test_the_graph_ends_a_search_only_by_the_norm_that_it_computes() -> None:
    options = [DecodingOptions(9, stop_rule=StopRule.LIKELY, length_norm=n) for n in LengthNorm]
    state = cache.admit(cache.empty_state(), options, [0, 1], [5, 5], bos_id=2)
    assert state.rows["likely"].tolist() == [n is LengthNorm.WU for n in LengthNorm]

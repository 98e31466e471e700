"""Rows and entries: what is kept, where it goes, and that nobody gets another's."""

import doctest

import numpy as np
import pytest

from service.engine import cache
from service.engine.types import DecoderState, DecodingOptions, StopRule, identity_places


def state_of(ancestors: list[list[list[float]]], totals: list[list[float]]) -> DecoderState:
    mask = np.array(ancestors, np.float32)
    rows, width, entries = mask.shape
    row, entry = identity_places(rows, entries)
    return DecoderState(
        ids=np.arange(rows * width).reshape(rows, width),
        totals=np.array(totals, np.float32),
        position=np.full((rows, 1), 3),
        finished=np.zeros((rows, 1), np.int64),
        best=np.full((rows, 1), cache.DEAD, np.float32),
        beam_size=np.full((rows, 1), width),
        length_penalty=np.zeros((rows, 1), np.float32),
        likely=np.zeros((rows, 1), np.bool_),
        ancestors=mask,
        row=row,
        entry=entry,
    )


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(cache) == (0, 1)


@pytest.mark.parametrize("leaving", ["0000", "1111", "1000", "0001", "1010", "0111", "1", ""])
def test_rows_fill_the_places_of_those_that_leave(leaving: str) -> None:
    flags = [flag == "1" for flag in leaving]
    order = cache.keep_order(flags)
    assert sorted(order) == [index for index, leaves in enumerate(flags) if not leaves]
    unmoved = [index for index, old in enumerate(order) if index == old]
    stay_in_place = [i for i in range(len(order)) if not flags[i]]
    assert unmoved == stay_in_place


def test_compaction_drops_entries_without_a_living_descendant() -> None:
    no = cache.MASKED
    ancestors: list[list[list[float]]] = [
        [[0, no, no, 0, no, no], [0, no, no, no, no, 0]],
        [[no, no, 0, no, 0, no], [no, no, no, no, no, no]],
    ]
    state = state_of(ancestors, [[-1, -2], [-1, cache.DEAD]])
    kept = cache.retire_and_compact(state, [1, 0])
    assert kept.row.tolist() == [1, 0]
    assert kept.entry[0, :2].tolist() == [2, 4]
    assert kept.entry[1, :3].tolist() == [0, 3, 5]
    assert kept.ancestors[0, 0, :4].tolist() == [0, 0, no, no]
    assert kept.ancestors[1, :, :4].tolist() == [[0, 0, no, no], [0, no, 0, no]]


def test_a_second_retirement_before_a_run_still_points_into_the_last_runs_caches() -> None:
    no = cache.MASKED
    ancestors: list[list[list[float]]] = [[[0, 0]], [[no, 0]], [[0, no]]]
    state = state_of(ancestors, [[-1], [-1], [-1]])
    twice = cache.retire_and_compact(cache.retire_and_compact(state, [2, 1]), [1])
    assert twice.row.tolist() == [1]
    assert twice.entry[0, 0] == 1


def test_new_rows_see_no_old_entry_and_start_from_one_beam() -> None:
    state = state_of([[[0, 0, 0, 0]]], [[-1]])
    wide = DecodingOptions(9, beam_size=3, length_penalty=0.5)
    narrow = DecodingOptions(9, beam_size=2, stop_rule=StopRule.LIKELY)
    grown = cache.admit(state, [wide, narrow], bos_id=2)
    assert grown.ids.shape == (3, 3)
    assert grown.finished.tolist() == [[0], [0], [cache.NEVER]]
    assert grown.beam_size.tolist() == [[1], [3], [2]]
    assert grown.length_penalty.tolist() == [[0], [0.5], [np.float32(0.6)]]
    assert grown.likely.tolist() == [[False], [False], [True]]
    assert grown.ids[1:].tolist() == [[2] * 3] * 2
    assert (grown.ancestors[1:] == cache.MASKED).all()
    assert grown.totals[1:].tolist() == [[0, cache.DEAD, cache.DEAD]] * 2
    assert grown.totals[0].tolist() == [-1, cache.DEAD, cache.DEAD]
    assert (grown.ancestors[0, 1:] == cache.MASKED).all()


def test_the_source_pool_gives_every_row_its_own_source_through_any_history() -> None:
    rng = np.random.default_rng(0)
    pool = cache.SourcePool()
    expected: list[np.ndarray] = []
    for _ in range(60):
        leaving = [bool(flag) for flag in rng.random(len(expected)) < 0.4]
        order = cache.keep_order(leaving)
        pool.retire(order)
        expected = [expected[index] for index in order]
        new = [
            rng.normal(size=(2, int(length), 3)).astype(np.float32)
            for length in rng.integers(1, 20, 3)
        ]
        width = max(source.shape[1] for source in new)
        padded = np.stack(
            [np.pad(source, ((0, 0), (0, width - source.shape[1]), (0, 0))) for source in new]
        )
        pool.admit([padded, -padded], [source.shape[1] for source in new])
        expected += new
        (keys, values), bias = pool.views()
        assert len(keys) == len(values) == len(bias) == len(expected)
        for row, source in enumerate(expected):
            length = source.shape[1]
            assert (keys[row, :, :length] == source).all()
            assert (values[row, :, :length] == -source).all()
            assert (bias[row] == 0).sum() == length
            assert (bias[row, :length] == 0).all()

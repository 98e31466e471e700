"""The entries that a run gathers, and the sentences that share a row."""

from collections.abc import Sequence

import numpy as np
import pytest

from service.engine import cache
from service.engine.packing import LARGEST, ROUND, Packing, pack
from service.engine.types import MASKED, DecoderState, DecodingOptions


def state_with(
    counts: Sequence[int], width: int = 2, length: int = 40, sources: Sequence[int] | None = None
) -> DecoderState:
    """Make rows with given numbers of live entries at random places, each on some beam's path.

    `sources` are the lengths of theirs, 10 each where nothing is said.
    """
    rng = np.random.default_rng(len(counts))
    options = [DecodingOptions(99, beam_size=width)] * len(counts)
    lengths = sources or [10] * len(counts)
    places = rng.permutation(2 * len(counts))[: len(counts)].tolist()
    state = cache.admit(cache.empty_state(), options, places, lengths, bos_id=2)
    state.ancestors = np.full((len(counts), width, length), MASKED, np.float32)
    state.rows["cache"] = rng.integers(0, 9, len(counts))
    for row, count in enumerate(counts):
        for entry in rng.choice(length, count, replace=False):
            state.ancestors[row, rng.choice(width, rng.integers(1, width + 1), False), entry] = 0
    return state


def paths(packing: Packing, width: int) -> dict[int, list[list[tuple[int, int]]]]:
    """Return each beam's entries by row of the state, as (row, entry) in the caches."""
    found = {}
    for place, row in enumerate(packing.order.tolist()):
        at, member = divmod(place, packing.size)
        beams = packing.state.ancestors[at, member * width : (member + 1) * width]
        found[row] = [
            sorted(
                (int(packing.state.row[at, column]), int(packing.state.entry[at, column]))
                for column in np.flatnonzero(beam == 0)
            )
            for beam in beams
        ]
    return found


@pytest.mark.parametrize(
    "counts", [[0], [5], [5, 7], [3] * 7, [1, 30] * 8, [0, 9, 40, 2, 2, 2], [8] * 9]
)
def test_every_beam_attends_exactly_to_its_own_path(counts: list[int]) -> None:
    state = state_with(counts)
    found = paths(pack(state), width=2)
    for row in range(len(counts)):
        assert found[row] == [
            [(int(state.rows["cache"][row]), int(entry)) for entry in np.flatnonzero(beam == 0)]
            for beam in state.ancestors[row]
        ]


def test_entries_without_live_descendants_are_dropped() -> None:
    packing = pack(state_with([5, 5, 5], length=400))
    assert packing.state.row.shape[1] < 20


def test_a_long_sentence_shares_its_row_with_a_short_one() -> None:
    packing = pack(state_with([30, 4, 28, 2, 8, 26]))
    shared = {frozenset(pair) for pair in packing.order.reshape(-1, 2).tolist()}
    assert shared == {frozenset({0, 3}), frozenset({1, 2}), frozenset({4, 5})}
    assert packing.state.row.shape == (3, 36)  # 26 and 8 are 34, in whole fours


@pytest.mark.parametrize("rows", range(1, 20))
def test_packs_have_equal_sizes_up_to_the_limit(rows: int) -> None:
    counts = np.random.default_rng(rows).integers(1, 30, rows).tolist()
    packing = pack(state_with(counts))
    assert sorted(packing.order) == list(range(rows))
    assert packing.size * len(packing.state.row) == rows
    assert packing.size <= LARGEST
    assert packing.state.row.shape[1] % ROUND == 0


def test_sentences_of_equal_length_are_not_packed() -> None:
    assert pack(state_with([10] * 8)).size == 1


@pytest.mark.parametrize(
    "lengths", [[7], [3, 60], [9] * 7, [5, 40] * 8, [1, 2, 3, 4, 50, 60], [30, 8] * 4]
)
def test_every_sentence_attends_exactly_to_its_own_source(lengths: list[int]) -> None:
    state = state_with([len(lengths)] * len(lengths), sources=lengths)
    packing = pack(state)
    shared = len(lengths) // len(packing.state.source_row)
    for place, row in enumerate(packing.order.tolist()):
        columns = np.flatnonzero(packing.state.source_bias[place] == 0)
        assert set(packing.state.source_row[place // shared, columns]) == {
            state.rows["source"][row]
        }
        assert packing.state.source_entry[place // shared, columns].tolist() == list(
            range(lengths[row])
        )
        assert (np.delete(packing.state.source_bias[place], columns) == np.float32(MASKED)).all()


def test_sources_share_rows_only_if_that_saves_padding() -> None:
    counts = [30, 4] * 8
    uneven = pack(state_with(counts, sources=[40, 6] * 8))
    assert uneven.state.source_row.shape[0] == len(uneven.state.row) < 16
    even = pack(state_with(counts, sources=[20] * 16))
    assert len(even.state.row) < 16 == len(even.state.source_row)
    assert even.state.source_row.shape[1] == 20


def test_pairs_minimise_the_total_cost_of_entries_and_sources() -> None:
    packing = pack(state_with([20, 20, 20, 20], sources=[40, 4, 40, 4]))
    assert packing.state.source_row.shape == (2, 44)


def test_bans_are_mapped_to_packs_and_queries() -> None:
    packing = pack(state_with([3, 30, 5, 28], width=2))
    assert packing.size == 2
    banned = np.array([[0, 0, 7], [1, 1, 8], [3, 0, 9]])
    for (row, beam, token), (at, query, same) in zip(
        banned.tolist(), packing.queries(banned).tolist(), strict=True
    ):
        member, in_member = divmod(query, 2)
        assert packing.order[at * packing.size + member] == row
        assert (in_member, same) == (beam, token)

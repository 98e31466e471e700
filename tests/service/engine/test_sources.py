"""The sources of a batch keep what the encoder returned, however sentences join and leave."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.sources import Cross, DeviceSources, HostSources, Sources, pad
from service.engine.types import Floats, Ints

PAD = 0


def encode(ids: Ints, bias: Floats) -> list[NDArray[np.floating]]:
    """Return keys [B, 2, S, 1] and values [B, 2, S, 1] that tell each id and its position."""
    assert ((ids == PAD) == (bias < 0)).all()
    positions = np.arange(ids.shape[1]) / 1000
    keys = np.stack((ids + positions, -ids - positions), axis=1)[..., None].astype(np.float32)
    return [keys, keys + 0.5]


class Device:
    """Arrays that stand for those on a device, and the encoder that writes to them."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, int]] = []
        """Rows and width of each run of the encoder."""

    def allocate(self, rows: int, width: int) -> Cross:
        return [np.full((rows, 2, width, 1), np.nan, np.float32) for _ in range(2)]

    def encode_into(self, ids: Ints, bias: Floats, arrays: Cross, row: int) -> None:
        self.runs.append(ids.shape)
        for array, encoded in zip(arrays, encode(ids, bias), strict=True):
            assert array.shape[1:] == encoded.shape[1:]
            array[row : row + len(ids)] = encoded

    def sources(self) -> DeviceSources:
        return DeviceSources(self.encode_into, self.allocate, PAD)


@pytest.mark.parametrize("make", [lambda: HostSources(encode, PAD), lambda: Device().sources()])
def test_every_source_is_kept_through_random_operations(make: Callable[[], Sources]) -> None:
    rng = np.random.default_rng(0)
    sources, expected = make(), dict[int, list[int]]()
    for turn in range(120):
        leaving = [row for row in expected if rng.random() < 0.4]
        sources.retire(leaving)
        for row in leaving:
            del expected[row]
        longest = 300 if turn % 40 == 20 else 20
        count = int(rng.integers(1, 30 if turn % 50 == 10 else 5))
        new = [
            rng.integers(1, 100, int(length)).tolist() for length in rng.integers(1, longest, count)
        ]
        rows = [row for row in sources.admit(new) if row is not None]
        assert len(rows) == len(new)
        assert not expected.keys() & set(rows)
        expected.update(zip(rows, new, strict=True))
        for row, ids in expected.items():
            alone = encode(*pad([ids], PAD))
            for array, kept in zip(alone, sources.arrays, strict=True):
                assert (kept[row, :, : len(ids)] == array[0]).all()


def test_a_source_with_invalid_values_has_no_row() -> None:
    def poisoned(ids: Ints, bias: Floats) -> list[NDArray[np.floating]]:
        encoded = encode(ids, bias)
        encoded[0][(ids == 13).any(axis=1)] = np.nan
        return encoded

    sources = HostSources(poisoned, PAD)
    assert sources.admit([[13, 2], [5, 6], [7, 13]]) == [None, 0, None]
    assert sources.admit([[13]]) == [None]
    assert sources.admit([[8, 9]]) == [1]
    assert sources.arrays[0][1, 0, :2, 0].tolist() == pytest.approx([8, 9.001])


def test_new_sources_on_a_device_are_encoded_together_while_sentences_come_and_go_in_turn() -> None:
    device = Device()
    sources = device.sources()
    running: list[Sequence[int]] = []
    for _ in range(40):
        running.append([row for row in sources.admit([[5] * 9] * 8) if row is not None])
        if len(running) > 3:
            sources.retire(running.pop(0))
    wrapped = sum(rows < 8 for rows, _ in device.runs)
    assert wrapped <= 12  # where the rows begin anew, and where the arrays grew
    assert {width for _, width in device.runs} == {32}


def test_rows_on_a_device_become_narrow_again_after_a_long_sentence() -> None:
    device = Device()
    sources = device.sources()
    [long, short] = sources.admit([[5] * 400, [6] * 3])
    assert long is not None
    assert sources.arrays[0].shape[2] == 512
    sources.retire([long])
    sources.admit([[7]])
    assert sources.arrays[0].shape[2] == 32
    assert sources.arrays[0][short, 0, :3, 0].tolist() == pytest.approx([6, 6.001, 6.002])


def test_a_long_list_is_encoded_in_several_runs() -> None:
    device = Device()
    device.sources().admit([[5] * 500] * 70)
    assert device.runs == [(32, 512), (32, 512), (6, 512)]

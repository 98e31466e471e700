"""Keeps the cross-attention keys and values of a batch's sources, one row for each sentence. Pure numpy.

They stay in their rows while sentences join and leave; `packing.py` says which of them a run of the decoder
gathers. On a CPU, the rows are numpy arrays. On a device, the encoder writes its output to its place in
the device's memory, so that nothing travels.

Shapes: B sentences, R rows, S source positions, H heads, D head dim.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from service.engine.types import MASKED, Floats, Ints

Cross = Sequence[Any]
"""The keys and values [R, H, S, D] of each layer, in the order of the decoder's inputs, wherever they are."""
Encode = Callable[[Ints, Floats], list[NDArray[np.floating]]]
"""Returns the keys and values [B, H, S, D] of sources [B, S] with their additive mask [B, S]."""
EncodeInto = Callable[[Ints, Floats, Cross, int], None]
"""Like `Encode`, but writes to consecutive rows of arrays whose S is the same, from the given row on."""
Allocate = Callable[[int, int], Cross]
"""Returns arrays of so many rows R and positions S, with arbitrary content."""

MAX_PADDING = 3
"""Maximum padding of sources that are encoded together on a CPU, in tokens: about the cost of another run."""
ENCODED_ON_HOST = 1024
"""Maximum tokens per run of the encoder on a CPU, including padding. Bounds memory, mostly attention's."""
ROUND = 4
"""Lengths are rounded up to multiples, so that few different sizes are allocated."""
LEAST_WIDTH, LEAST_ROWS = 32, 16
"""The smallest arrays on a device. Larger ones are powers of two."""
MUCH_NARROWER = 4
"""Factor by which the rows on a device must be wider than needed to be replaced."""
ENCODED_ON_DEVICE = 16_384
"""Maximum tokens per run of the encoder on a device, including padding."""


class Sources(Protocol):
    """The sources of one batch."""

    @property
    def arrays(self) -> Cross:
        """What the decoder gathers from."""

    def admit(self, sources: Sequence[Sequence[int]]) -> list[int | None]:
        """Encode sources, given by their ids, and keep them.

        Returns:
            The row of each; None if the encoder returned invalid values for it.
        """

    def retire(self, rows: Sequence[int]) -> None:
        """Free these rows."""


class HostSources:
    """Sources in the memory of the process.

    There are spare rows. S grows with the longest sentence, and shrinks when that saves half. Padding here
    costs memory, but no time.
    """

    def __init__(self, encode: Encode, pad_id: int) -> None:
        """Start with no rows and no memory."""
        self.arrays: list[NDArray[np.floating]] = []
        self._encode, self._pad_id = encode, pad_id
        self._lengths: dict[int, int] = {}  # by row

    def admit(self, sources: Sequence[Sequence[int]]) -> list[int | None]:
        """See Sources. Sources of similar length are encoded together."""
        rows: dict[int, int] = {}  # by index in `sources`
        for indices in _similar([len(source) for source in sources]):
            encoded = self._encode(*pad([sources[index] for index in indices], self._pad_id))
            valid = _valid(encoded)
            if not all(valid):
                encoded = [array[valid] for array in encoded]
                indices = [
                    index for index, is_valid in zip(indices, valid, strict=True) if is_valid
                ]
            if indices:
                lengths = [len(sources[index]) for index in indices]
                rows.update(zip(indices, self._placed(encoded, lengths), strict=True))
        return [rows.get(index) for index in range(len(sources))]

    def retire(self, rows: Sequence[int]) -> None:
        """See Sources."""
        for row in rows:
            del self._lengths[row]
        if not self._lengths:
            self.arrays = []
            return
        needed = _round_up(max(self._lengths.values()))
        if needed <= 0.5 * self.arrays[0].shape[2]:
            self._resize(len(self.arrays[0]), needed)

    def _placed(self, encoded: Sequence[NDArray[np.floating]], lengths: Sequence[int]) -> list[int]:
        """Add `encoded` [B, H, S, D] each, with `lengths` [B] positions in use; return the new rows.

        Without other rows, the arrays are kept without copying them.
        """
        if not self._lengths:
            self.arrays = list(encoded)
            self._lengths = dict(enumerate(lengths))
            return list(self._lengths)
        needed, new_width = len(self._lengths) + len(lengths), encoded[0].shape[2]
        rows, _, width, _ = self.arrays[0].shape
        if needed > rows or new_width > width:
            rows = max(rows, _round_up(needed))
            self._resize(rows, max(width, _round_up(new_width)))
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


class DeviceSources:
    """Sources in the memory of a device.

    All rows have the same S, to which the encoder pads, as padding costs it little there. If a sentence is
    longer, or if there are too few rows, the arrays are replaced, and what they held is encoded again. Rows
    are taken in turn: sentences leave about as they came, so new ones mostly find consecutive rows, which the
    encoder fills in one run. Invalid values are left to the decoder, whose scores then are invalid, too.
    """

    def __init__(self, encode_into: EncodeInto, allocate: Allocate, pad_id: int) -> None:
        """Start with no rows and no memory."""
        self.arrays: Cross = ()
        self._encode_into, self._allocate, self._pad_id = encode_into, allocate, pad_id
        self._num_rows = self._width = self._next_row = 0
        self._held: dict[int, Sequence[int]] = {}  # by row

    def admit(self, sources: Sequence[Sequence[int]]) -> list[int | None]:
        """See Sources."""
        width = _power_of_two(max(map(len, (*self._held.values(), *sources))), LEAST_WIDTH)
        needed = len(self._held) + len(sources)
        if needed > self._num_rows or not width <= self._width < MUCH_NARROWER * width:
            # twice as many as needed, so that free rows are consecutive
            self._replace(max(self._num_rows, _power_of_two(2 * needed, LEAST_ROWS)), width)
        rows = self._free_rows(len(sources))
        self._held.update(zip(rows, sources, strict=True))
        self._encode(sorted(rows))
        return list(rows)

    def retire(self, rows: Sequence[int]) -> None:
        """See Sources."""
        for row in rows:
            del self._held[row]

    def _replace(self, rows: int, width: int) -> None:
        """Make new arrays, and encode again what the old ones held, in the same rows."""
        self.arrays = ()  # before there are others
        self.arrays = self._allocate(rows, width)
        self._num_rows, self._width = rows, width
        self._encode(sorted(self._held))

    def _free_rows(self, count: int) -> list[int]:
        """Return the next free rows, in turn."""
        numbers = (row % self._num_rows for row in range(self._next_row, 2**63))
        rows = list(islice((row for row in numbers if row not in self._held), count))
        self._next_row = rows[-1] + 1
        return rows

    def _encode(self, rows: Sequence[int]) -> None:
        """Encode the sources of these rows, consecutive ones together."""
        for begin, end in _stretches(rows, max(1, ENCODED_ON_DEVICE // self._width)):
            sources = [self._held[row] for row in range(begin, end)]
            ids, bias = pad(sources, self._pad_id, self._width)
            self._encode_into(ids, bias, self.arrays, begin)


def pad(
    rows: Sequence[Sequence[int]], pad_id: int, width: int | None = None
) -> tuple[Ints, Floats]:
    """Return rows of ids as one array [B, S], and their additive mask [B, S].

    S is `width`, by default the length of the longest.
    """
    width = width or max(map(len, rows))
    ids = np.full((len(rows), width), pad_id, np.int64)
    bias = np.zeros((len(rows), width), np.float32)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        bias[index, len(row) :] = MASKED
    return ids, bias


def _similar(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group sources by similar length, the longest first, and yield the indices of each group."""
    group: list[int] = []
    padding = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        longest = lengths[(group or [index])[0]]
        padding += longest - lengths[index]
        is_full = (len(group) + 1) * longest > ENCODED_ON_HOST
        if group and (is_full or padding > MAX_PADDING):
            yield group
            group, padding = [], 0
        group.append(index)
    if group:
        yield group


def _valid(encoded: Sequence[NDArray[np.floating]]) -> list[bool]:
    """Return for each sentence whether its keys and values [B, H, S, D] are finite.

    Only the first layer's keys are checked: an invalid value in the encoder's output affects all layers.
    """
    valid: list[bool] = np.isfinite(encoded[0]).all(axis=(1, 2, 3)).tolist()
    return valid


def _stretches(numbers: Sequence[int], longest: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each stretch of consecutive numbers, of which `numbers` are a sorted list."""
    for _, group in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        members = [number for _, number in group]
        end = members[-1] + 1
        for begin in range(members[0], end, longest):
            yield begin, min(begin + longest, end)


def _round_up(length: int) -> int:
    return max(1, -(-length // ROUND)) * ROUND


def _power_of_two(number: int, least: int) -> int:
    return max(least, 1 << (number - 1).bit_length())

"""The limits of a batch by a device's memory, computed by hand."""

import pytest

from service.engine.config import EngineConfig

BASE = 2 * 6 * 512 * 2
"""Bytes of a cache entry of the paper's base network in fp16: keys and values of 6 layers."""


@pytest.mark.parametrize(
    ("memory", "sentences", "entries"),
    [
        (80_000_000_000, 256, 813_802),  # half of it, by four copies of 12,288 bytes
        (8_000_000_000, 79, 81_380),
        (1_000_000_000, 16, 10_172),
        (50_000_000, 16, 1_024),
    ],
)
def test_a_batch_is_as_large_as_the_memory_of_a_device_allows(
    memory: int, sentences: int, entries: int
) -> None:
    config = EngineConfig(num_workers=1, max_waiting=7).for_device(memory, BASE)
    assert (config.max_num_seqs, config.max_num_batched_tokens) == (sentences, entries)
    assert (config.keys_multiple, config.max_waiting) == (4, 7)

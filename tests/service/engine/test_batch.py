"""How a batch uses its runner: how much it encodes at once, and when it releases memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine import batch
from service.engine.batch import Batch
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.rerank import Reranker
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, DecodingSequence, Floats, Ints, SpecialIds
from service.models import bundle
from tests.fakes import SPECIAL, EchoRunner, echo_source


class Watched(EchoRunner):
    """Records what was encoded together, and how often memory was released."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[tuple[int, ...]] = []
        self.releases = 0

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        self.encoded.append(source_ids.shape)
        return super().encode(source_ids, source_bias)

    def release_memory(self, caches: Any) -> None:
        self.releases += 1


def sequence(length: int) -> DecodingSequence:
    options = DecodingOptions(max_decoding_length=length + 1, beam_size=1)
    return DecodingSequence(tuple(echo_source(length)), options, arrived=0.0)


def run(runner: Watched, lengths: list[int]) -> None:
    running = Batch(runner, SPECIAL, Reranker(SPECIAL, 1))
    running.admit([sequence(length) for length in lengths])
    while running:
        running.decode(4, 1)


def test_the_number_of_sources_encoded_together_depends_on_their_length() -> None:
    runner = Watched()
    run(runner, [20] * 16)
    assert [rows for rows, _ in runner.encoded] == [16]
    runner.encoded.clear()
    run(runner, [500] * 5)
    assert [rows for rows, _ in runner.encoded] == [2, 2, 1]


def test_only_sources_of_similar_length_are_encoded_together() -> None:
    runner = Watched()
    run(runner, [7, 20, 12, 19, 18, 12])  # the first three need 0 + 1 + 2 tokens, a fourth 8 more
    assert runner.encoded == [(3, 22), (2, 14), (1, 9)]  # with tag and EOS


def test_memory_is_released_once_after_a_large_batch_and_never_after_a_small_one() -> None:
    runner = Watched()
    for _ in range(5):
        run(runner, [30] * 16)
    assert runner.releases == 0
    run(runner, [400] * 16)
    assert runner.releases == 1


def test_releasing_memory_does_not_affect_running_sentences(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "LARGE", 1)
    releases = []

    class Runner(OnnxModelRunner):
        def release_memory(self, caches: Any) -> None:
            releases.append(caches is not None)
            super().release_memory(caches)

    loaded = bundle.load(tiny_bundle)
    runner = Runner(*loaded.graphs("fp32"), scorer=loaded.scorer)
    engine = Engine([runner], SpecialIds(pad=0, bos=2, eos=3), EngineConfig(max_num_seqs=9))
    engine.start()
    lines = (tiny_bundle / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    golden = [json.loads(line) for line in lines]
    options = [DecodingOptions(len(one["source_ids"]) - 2 + 50) for one in golden]
    items = [(one["source_ids"], asked) for one, asked in zip(golden, options, strict=True)]
    found = [list(one.future.result(60)[0].ids) for one in engine.submit(items)]
    engine.close()
    assert found == [one["ids"] for one in golden]
    assert {True, False} == set(releases)

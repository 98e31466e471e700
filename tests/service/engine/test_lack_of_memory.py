"""A batch that memory does not suffice for is translated in smaller ones, and nothing is lost."""

from typing import Any

import pytest

from service import errors
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun, PackedState
from service.engine.sources import Cross
from service.engine.types import DecodingOptions, RunPlan
from tests.fakes import SPECIAL, EchoRunner, echo_of, echo_source

GREEDY = DecodingOptions(max_decoding_length=60, beam_size=1)


class SmallRunner(EchoRunner):
    """A model whose memory suffices for a number of sentences."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.sizes: list[int] = []

    def decode(self, state: PackedState, caches: Any, cross: Cross, plan: RunPlan) -> PackedRun:
        self.sizes.append(len(state.rows))
        if len(state.rows) > self.room:
            raise MemoryError("failed to allocate memory for requested buffer")
        return super().decode(state, caches, cross, plan)


@pytest.mark.parametrize("room", [1, 3, 10])
def test_all_sentences_are_translated_in_batches_that_fit(room: int) -> None:
    runner = SmallRunner(room)
    runner.hold.clear()
    faults: list[tuple[str, int]] = []
    engine = Engine(
        [runner],
        SPECIAL,
        EngineConfig(max_num_seqs=16),
        on_fault=lambda kind, count: faults.append((kind, count)),
    )
    engine.start()
    sources = [echo_source(5 + number % 30) for number in range(60)]
    sequences = engine.submit([(source, GREEDY) for source in sources])
    runner.hold.set()
    answers = [sequence.future.result(60)[0].ids for sequence in sequences]
    assert engine.is_alive
    assert engine.close()
    assert answers == [echo_of(source) for source in sources]
    failed = [size for size in runner.sizes if size > room]
    assert len(failed) == len(faults) <= 4  # 16, 8, 4, 2
    assert set(faults) == {("memory", 1)}


def test_a_sentence_for_which_memory_does_not_suffice_alone_fails() -> None:
    runner = SmallRunner(0)
    engine = Engine([runner], SPECIAL, EngineConfig())
    engine.start()
    sequences = engine.submit([(echo_source(5), GREEDY), (echo_source(6), GREEDY)])
    for sequence in sequences:
        with pytest.raises(errors.StepFailedError):
            sequence.future.result(60)
    assert engine.close()

"""The choice between one thread and several for a lone sentence; fake runners advance the clock."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun, PackedState
from service.engine.single_sequence import is_faster
from service.engine.sources import HostSources
from service.engine.types import DecodingOptions, Floats, Ints, RunPlan
from tests.fakes import SPECIAL, EchoRunner, echo_of, echo_source


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TimedRunner:
    """Takes a given time per step, and ends after a given number of steps."""

    def __init__(self, clock: Clock, seconds: Sequence[float], steps: int = 99) -> None:
        self.clock, self.seconds, self.steps = clock, list(seconds), steps
        self.runs = 0

    def encode(self, source_ids: Ints, _: Floats) -> list[NDArray[np.floating]]:
        return [np.zeros((len(source_ids), 1, source_ids.shape[1], 1), np.float32)]

    def new_sources(self, pad_id: int) -> HostSources:
        return HostSources(self.encode, pad_id)

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        raise NotImplementedError

    def release_memory(self, caches: Any) -> None:
        raise NotImplementedError

    def decode(
        self,
        state: PackedState,
        caches: Any,
        cross: Sequence[NDArray[np.floating]],
        plan: RunPlan,
    ) -> PackedRun:
        steps = min(plan.steps, self.steps)
        self.clock.now += steps * self.seconds[min(self.runs, len(self.seconds) - 1)]
        self.runs += 1
        none = np.zeros((steps, 1, 8), np.int64)
        after = state.ids, state.cum_log_probs, state.rows["finished"], state.rows["best"]
        scores = none.astype(np.float32)
        return PackedRun(*after, np.zeros((1, 4, 0), np.float32), None, scores, none, none)


@pytest.mark.parametrize(
    ("several", "one", "pays"),
    [
        ([1.0], [1.3], True),
        ([1.0], [1.05], False),
        ([1.0], [0.8], False),
        ([50.0, 1.0], [1.3], True),  # the first run allocates
        ([1.0, 1.0, 9.0, 1.0], [1.3], True),  # something else had the machine for a moment
    ],
)
def test_several_threads_are_used_only_if_they_are_faster(
    several: list[float], one: list[float], *, pays: bool
) -> None:
    clock = Clock()
    runners = TimedRunner(clock, several, steps=3), TimedRunner(clock, one)
    assert is_faster(*runners, SPECIAL, clock) is pays


def test_only_a_sentence_that_is_alone_runs_on_all_cores() -> None:
    plain, lone = EchoRunner(), EchoRunner()
    counts = {id(plain): 0, id(lone): 0}
    for runner in (plain, lone):
        decode = runner.decode

        def counted(*arguments: Any, runner: EchoRunner = runner, decode: Any = decode) -> Any:
            counts[id(runner)] += 1
            return decode(*arguments)

        runner.decode = counted  # type: ignore[method-assign, assignment]
    engine = Engine([plain], SPECIAL, EngineConfig(num_workers=1), single_sequence_runner=lone)
    engine.start()
    options = DecodingOptions(30, beam_size=1)
    try:
        source = echo_source(12)
        [alone] = engine.submit([(source, options)])
        assert alone.future.result(60)[0].ids == echo_of(source)
        assert counts[id(plain)] == 0
        assert counts[id(lone)] > 0
        before = counts[id(lone)]
        several = engine.submit([(echo_source(12), options) for _ in range(4)])
        assert [one.future.result(60)[0].ids for one in several] == [echo_of(source)] * 4
        assert counts[id(lone)] == before
        assert counts[id(plain)] > 0
    finally:
        engine.close()

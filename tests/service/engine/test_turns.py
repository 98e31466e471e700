"""Turns are granted in order of arrival, and limit the concurrent steps of engines that share them."""

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun, PackedState
from service.engine.turns import Turns
from service.engine.types import DecodingOptions, RunPlan
from tests.fakes import SPECIAL, EchoRunner, echo_of, echo_source
from tests.waiting import wait_until


def test_waiting_threads_are_served_before_new_ones() -> None:
    turns, served = Turns(1), list[str]()
    waiting: list[threading.Thread] = []

    def take(name: str) -> None:
        with turns:
            served.append(name)

    with turns:
        for name in ("first", "second", "third"):
            waiting.append(threading.Thread(target=take, args=(name,)))
            waiting[-1].start()
            wait_until(lambda: len(turns._waiting) == len(waiting))
    take("again")
    for thread in waiting:
        thread.join(60)
    assert served == ["first", "second", "third", "again"]


class CountingRunner(EchoRunner):
    """Counts how many runners run at the same time."""

    running: ClassVar[set[int]] = set()
    most: ClassVar[int] = 0

    def decode(
        self, state: PackedState, caches: Any, cross: Sequence[NDArray[np.floating]], plan: RunPlan
    ) -> PackedRun:
        self.running.add(threading.get_ident())
        CountingRunner.most = max(CountingRunner.most, len(self.running))
        try:
            return super().decode(state, caches, cross, plan)
        finally:
            self.running.discard(threading.get_ident())


def test_engines_share_cores() -> None:
    turns, config = Turns(2), EngineConfig(num_workers=2, max_num_seqs=4)
    engines = [Engine([CountingRunner(seconds_per_step=0.001)], SPECIAL, config) for _ in range(3)]
    sources = [echo_source(5 + n % 7, first=10 + n) for n in range(16)]
    for engine in engines:
        engine.share(turns)
        engine.start()
    try:
        work = [(source, DecodingOptions(60, beam_size=1)) for source in sources]
        found = [engine.submit(work) for engine in engines]
        for sequences in found:
            answers = [sequence.future.result(60)[0].ids for sequence in sequences]
            assert answers == [echo_of(source) for source in sources]
    finally:
        for engine in engines:
            engine.close()
    assert CountingRunner.most == 2

"""Sentences that are aborted at random take no further step than necessary."""

import random
import threading
import time
from collections import defaultdict
from typing import Any

import numpy as np

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun, PackedState
from service.engine.types import DecodingOptions, DecodingSequence, RunPlan
from tests.fakes import SPECIAL, EchoRunner, echo_of

COUNT = 3000
FIRST_ID = 100
"""Number of the tokens that identify sentences."""


class RecordingRunner(EchoRunner):
    """Records which sentences were in each run."""

    def __init__(self) -> None:
        super().__init__(seconds_per_step=0.0002)
        self.started = 0
        self.runs_of: defaultdict[int, list[int]] = defaultdict(list)
        self._lock = threading.Lock()

    def decode(self, state: PackedState, caches: Any, cross: Any, plan: RunPlan) -> PackedRun:
        names = cross[0][state.rows["source"], 0, 1, 0].astype(np.int64).tolist()
        with self._lock:
            self.started += 1
            for name in names:
                self.runs_of[name].append(self.started)
        return super().decode(state, caches, cross, plan)


def test_aborted_sentences_are_not_decoded_further() -> None:
    runner, chance = RecordingRunner(), random.Random(1)
    sources = [
        [1, FIRST_ID + n, *range(10, 10 + chance.randint(1, 40)), SPECIAL.eos] for n in range(COUNT)
    ]
    config = EngineConfig(num_workers=2, max_num_seqs=8, max_waiting=COUNT)
    engine = Engine([runner], SPECIAL, config)
    engine.start()
    submitted: list[DecodingSequence] = []
    aborted: dict[int, int] = {}  # sentences, and how many runs had started by then
    try:
        for at, source in enumerate(sources):
            options = DecodingOptions(max_decoding_length=60, beam_size=1)
            submitted += engine.submit([(source, options)])
            for _ in range(chance.choice((0, 1, 2))):
                gone = chance.randrange(max(0, at - 30), at + 1)
                if not submitted[gone].future.done():
                    engine.abort([submitted[gone]])
                    aborted[gone] = runner.started
            if chance.random() < 0.2:
                time.sleep(0.0005)
        answers = {
            at: one.future.result(60)[0].ids
            for at, one in enumerate(submitted)
            if not one.future.cancelled()
        }
    finally:
        engine.close()
    assert COUNT > len(aborted) > COUNT / 4
    assert answers.keys() == set(range(COUNT)) - {
        at for at in aborted if submitted[at].future.cancelled()
    }
    assert all(ids == echo_of(sources[at]) for at, ids in answers.items())
    # its loop may have looked already who has left, and be about to start one more run
    late = [
        at
        for at, before in aborted.items()
        if sum(run > before for run in runner.runs_of[FIRST_ID + at]) > 1
    ]
    assert late == []
    assert engine.num_waiting == engine.num_running == 0

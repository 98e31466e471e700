"""Runs that hang: the engine stops in time, and no future is left pending."""

import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from service import errors
from service.engine.config import EngineConfig
from service.engine.engine import CLOSE_SECONDS, Engine
from service.engine.turns import Turns
from service.engine.types import DecodingOptions
from tests.fakes import EchoRunner, Faults, echo_of, echo_source
from tests.service.engine.test_faults import GREEDY, IDS, outcome, running
from tests.waiting import wait_until

RANKED = DecodingOptions(max_decoding_length=5, beam_size=2, channel_tag=1)


class HangingRunner(EchoRunner):
    """Hangs in one kind of run on request."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.hangs = False
        self.num_hanging = 0
        self.end = threading.Event()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("encode", "decode", "score") and name == self.kind and self.hangs:
            return lambda *run: self.hang(found, *run)
        return found

    def hang(self, function: Any, *run: Any) -> Any:
        self.num_hanging += 1
        assert self.end.wait(60)
        return function(*run)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("kind", "name"), [("encode", "encoder"), ("decode", "decoder"), ("score", "scorer")]
)
def test_a_run_that_hangs_stops_the_engine(
    kind: str, name: str, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    now, runner, faults = 0.0, HangingRunner(kind), Faults()
    config = EngineConfig(num_workers=workers, max_num_seqs=2, stall_seconds=60)
    engine = Engine([runner], IDS, config, clock=lambda: now, on_fault=faults)
    engine.start()
    try:
        [good] = engine.submit([(echo_source(9), RANKED)])
        assert outcome(good) == echo_of(echo_source(9))[:5]
        runner.hangs = True
        sequences = engine.submit([(echo_source(9), RANKED)] * 9)
        wait_until(lambda: runner.num_hanging == workers)
        for _ in range(60):
            assert engine.check(), f"after {now} s"
            now += 1.0
        assert not engine.check()
        assert {outcome(sequence) for sequence in sequences} == {errors.EngineDeadError}
        with pytest.raises(errors.EngineDeadError):
            engine.submit([(echo_source(3), GREEDY)])
        assert engine.failure == f"a run of the {name} has not ended for 60 s"
        assert engine.failure in caplog.text
        assert not engine.check()
        assert faults.counts == {"stall": 1}
        assert engine.drain(10)
        assert not engine.close(timeout=0.01), "its thread hangs"
    finally:
        runner.end.set()
    assert engine.close()


def test_an_engine_stops_if_a_run_of_another_one_keeps_the_only_turn() -> None:
    now, turns, runner = 0.0, Turns(1), HangingRunner("decode")
    runner.hangs = True
    config = EngineConfig(stall_seconds=60)
    old, new = (Engine([one], IDS, config, clock=lambda: now) for one in (runner, EchoRunner()))
    for engine in (old, new):
        engine.share(turns)
        engine.start()
    try:
        old.submit([(echo_source(9), GREEDY)])
        wait_until(lambda: runner.num_hanging == 1)
        [waiting] = new.submit([(echo_source(9), GREEDY)])
        wait_until(lambda: len(turns._waiting) == 1)
        for _ in range(61):
            new.check()
            now += 1
        assert new.failure == "the wait for a turn has not ended for 60 s"
        assert outcome(waiting) is errors.EngineDeadError
    finally:
        runner.end.set()
        old.close()
        new.close()


def test_a_long_wait_for_a_turn_is_no_stall_while_turns_are_passed_on() -> None:
    now, turns, ends = 0.0, Turns(1), [threading.Event() for _ in range(3)]
    engine = Engine([EchoRunner()], IDS, EngineConfig(stall_seconds=60), clock=lambda: now)
    engine.share(turns)

    def take_turn(end: threading.Event) -> None:
        with turns:
            assert end.wait(60)

    others = [threading.Thread(target=take_turn, args=(end,)) for end in ends]
    engine.start()
    try:
        for number, other in enumerate(others):
            other.start()
            wait_until(lambda: not turns._free and len(turns._waiting) == number)  # noqa: B023
        [waiting] = engine.submit([(echo_source(9), GREEDY)])
        wait_until(lambda: len(turns._waiting) == len(others))
        for end, other in zip(ends, others, strict=True):
            for _ in range(40):
                assert engine.check(), f"after {now} s"
                now += 1
            end.set()
            other.join(60)
        assert outcome(waiting) == echo_of(echo_source(9))
    finally:
        for end in ends:
            end.set()
        engine.close()


def test_results_found_before_a_hang_are_delivered() -> None:
    now, runner = 0.0, HangingRunner("encode")
    engine = Engine([runner], IDS, EngineConfig(max_num_seqs=1), clock=lambda: now)
    engine.start()
    try:
        runner.hold.clear()
        first, second = engine.submit([(echo_source(3), GREEDY), (echo_source(2), GREEDY)])
        wait_until(lambda: engine.num_waiting == 1)
        runner.hangs = True
        runner.hold.set()
        wait_until(lambda: runner.num_hanging == 1)
        assert not first.future.done()
        while engine.check():
            now += 1.0
        assert outcome(first) == echo_of(echo_source(3))
        assert outcome(second) is errors.EngineDeadError
    finally:
        runner.end.set()
    assert engine.close()


def test_closing_a_hanging_engine_fails_all_futures() -> None:
    runner = HangingRunner("decode")
    runner.hangs = True
    engine = Engine([runner], IDS, EngineConfig(max_num_seqs=1))
    engine.start()
    try:
        sequences = engine.submit([(echo_source(3), GREEDY)] * 3)
        wait_until(lambda: runner.num_hanging == 1)
        assert not engine.drain(0.01)
        assert not engine.close(timeout=0.01)
        assert {outcome(sequence) for sequence in sequences} == {errors.CancelledError}
    finally:
        runner.end.set()
    assert engine.close()


def test_close_does_not_wait_again_for_a_run_that_hangs() -> None:
    now, runner = 0.0, HangingRunner("decode")
    runner.hangs = True
    engine = Engine([runner], IDS, EngineConfig(), clock=lambda: now)
    engine.start()
    try:
        engine.submit([(echo_source(3), GREEDY)])
        wait_until(lambda: runner.num_hanging == 1)
        while engine.check():
            now += 1.0
        started = time.monotonic()
        assert not engine.close()
        assert time.monotonic() - started < CLOSE_SECONDS / 2
    finally:
        runner.end.set()
    assert engine.close()


def test_runs_outside_the_workers_are_watched() -> None:
    now, end, begun = 0.0, threading.Event(), threading.Event()

    def align() -> None:
        with engine.watch.busy("an alignment"):
            begun.set()
            assert end.wait(60)

    with running(EchoRunner(), clock=lambda: now) as engine:
        thread = threading.Thread(target=align)
        thread.start()
        assert begun.wait(60)
        while engine.check():
            now += 1.0
        assert now == 60.0
        assert engine.failure == "an alignment has not ended for 60 s"
        end.set()
        thread.join()


def test_failing_callbacks_leave_no_future_pending() -> None:
    now, runner = 0.0, EchoRunner()

    def on_fault(kind: str, count: int) -> None:
        raise MemoryError

    engine = Engine([runner], IDS, EngineConfig(), clock=lambda: now, on_fault=on_fault)
    engine.start()
    runner.hold.clear()
    [good] = engine.submit([(echo_source(5), GREEDY)])
    wait_until(lambda: engine.num_running == 1)
    assert engine.check()
    for _ in range(61):
        with suppress(MemoryError):
            engine.check()
        now += 1.0
    assert outcome(good) is errors.EngineDeadError
    assert not engine.check()
    runner.hold.set()
    assert engine.close()


def test_an_idle_or_suspended_engine_has_not_stalled() -> None:
    now, runner = 0.0, EchoRunner()
    with running(runner, clock=lambda: now) as engine:
        [good] = engine.submit([(echo_source(5), GREEDY)])
        outcome(good)
        for _ in range(100):
            now += 1.0
            assert engine.check()
        runner.hold.clear()
        [good] = engine.submit([(echo_source(5), GREEDY)])
        wait_until(lambda: engine.num_running == 1)
        assert engine.check()
        now += 3600.0  # the process was stopped
        assert engine.check()
        runner.hold.set()
        assert outcome(good) == echo_of(echo_source(5))


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_an_invalid_stall_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"stall_seconds = .* must be more than 0"):
        EngineConfig(stall_seconds=seconds)

"""The engine with a model that echoes its input: joining, leaving and failures."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from service import errors
from service.engine import packing
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.model_runner import PackedRun
from service.engine.types import (
    DecodingOptions,
    DecodingSequence,
    FinishReason,
    Floats,
    Ints,
    StepStats,
)
from tests.fakes import SPECIAL, EchoRunner, echo_of, echo_source
from tests.waiting import wait_until

GREEDY = DecodingOptions(max_decoding_length=60, beam_size=1)


@contextmanager
def running(
    runner: EchoRunner,
    config: EngineConfig | None = None,
    clock: Callable[[], float] = time.monotonic,
    on_step: Callable[[StepStats], None] = lambda _: None,
) -> Iterator[Engine]:
    engine = Engine([runner], SPECIAL, config or EngineConfig(max_num_seqs=4), on_step, clock)
    engine.start()
    try:
        yield engine
    finally:
        runner.hold.set()
        engine.close()


def result(engine: Engine, source: list[int], options: DecodingOptions = GREEDY) -> tuple[int, ...]:
    return engine.submit([(source, options)])[0].future.result(60)[0].ids


@pytest.mark.parametrize("workers", [1, 2])
def test_concurrent_requests_get_their_own_results(workers: int) -> None:
    runner = EchoRunner()
    sources = [echo_source(1 + n % 23, first=10 + n) for n in range(200)]
    with running(runner, EngineConfig(num_workers=workers, max_num_seqs=8)) as engine:
        sequences = engine.submit([(source, GREEDY) for source in sources])
        answers = [sequence.future.result(60)[0].ids for sequence in sequences]
    assert answers == [echo_of(source) for source in sources]
    assert 1 < runner.largest_batch <= 8


class WatchedRunner(EchoRunner):
    """Records which threads called it."""

    def __init__(self) -> None:
        super().__init__(seconds_per_step=0.001)
        self.threads: set[str] = set()

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        self.threads.add(threading.current_thread().name)
        return super().encode(source_ids, source_bias)


def test_workers_share_runners_if_there_are_fewer_runners() -> None:
    first, second = WatchedRunner(), WatchedRunner()
    config = EngineConfig(num_workers=3, max_num_seqs=2)
    engine = Engine([first, second], SPECIAL, config)
    engine.start()
    try:
        sequences = engine.submit([(echo_source(9), GREEDY) for _ in range(30)])
        answers = {sequence.future.result(60)[0].ids for sequence in sequences}
    finally:
        engine.close()
    assert answers == {echo_of(echo_source(9))}
    assert first.threads == {"engine-0", "engine-2"}
    assert second.threads == {"engine-1"}


def test_joining_a_running_batch_does_not_change_a_translation() -> None:
    long, short = echo_source(40), echo_source(5, first=100)
    steps, done = list[StepStats](), list[str]()
    runner = EchoRunner(0.002)
    with running(runner, on_step=steps.append) as engine:
        alone = result(engine, short)
        runner.hold.clear()
        first = engine.submit([(long, GREEDY)])[0]
        wait_until(lambda: engine.num_running == 1)
        joined = engine.submit([(short, GREEDY)])[0]
        first.future.add_done_callback(lambda _: done.append("first"))
        joined.future.add_done_callback(lambda _: done.append("joined"))
        runner.hold.set()
        assert joined.future.result(60)[0].ids == alone == echo_of(short)
        assert first.future.result(60)[0].ids == echo_of(long)
        wait_until(lambda: len(done) == 2)
    assert done == ["joined", "first"]
    assert max(stats.rows for stats in steps) == 2


def test_the_length_limit_ends_a_translation_with_reason_length() -> None:
    with running(EchoRunner()) as engine:
        options = DecodingOptions(max_decoding_length=7, beam_size=1)
        found = engine.submit([(echo_source(20), options)])[0].future.result(60)[0]
    assert found.ids == echo_of(echo_source(7))
    assert found.finish_reason is FinishReason.LENGTH


def test_aborting_a_sentence_frees_its_row() -> None:
    runner = EchoRunner(0.002)
    with running(runner) as engine:
        runner.hold.clear()
        kept, dropped = engine.submit([(echo_source(30), GREEDY), (echo_source(40, 60), GREEDY)])
        wait_until(lambda: engine.num_running == 2)
        engine.abort([dropped])
        runner.hold.set()
        with pytest.raises(FutureCancelled):
            dropped.future.result(60)
        assert kept.future.result(60)[0].ids == echo_of(echo_source(30))
        assert engine.drain(10)
        assert [engine.num_waiting, engine.num_running] == [0, 0]


def test_a_failed_step_fails_only_its_batch() -> None:
    runner = EchoRunner()
    runner.fail_on = {77}
    with running(runner) as engine:
        bad = engine.submit([([1, 77, 3], GREEDY)])[0]
        with pytest.raises(errors.StepFailedError, match="the server's log says why"):
            bad.future.result(60)
        assert result(engine, echo_source(5)) == echo_of(echo_source(5))
        assert engine.is_alive


def test_repeated_failures_stop_the_engine_and_fail_all_futures() -> None:
    runner = EchoRunner()
    runner.fail_on = {77}
    config = EngineConfig(max_num_seqs=1, max_failures=3)
    with running(runner, config) as engine:
        sequences = engine.submit([([1, 77, 3], GREEDY)] * 10)
        failures = [type(sequence.future.exception(10)) for sequence in sequences]
        assert failures == [errors.StepFailedError] * 3 + [errors.EngineDeadError] * 7
        assert not engine.is_alive
        with pytest.raises(errors.EngineDeadError, match="the server's log says why"):
            engine.submit([(echo_source(3), GREEDY)])


def test_results_are_delivered_even_if_encoding_the_next_sentences_fails() -> None:
    runner = EchoRunner()
    encode = runner.encode

    def failing(source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        if 77 in source_ids:
            raise RuntimeError("the encoder failed")
        return encode(source_ids, source_bias)

    runner.encode = failing  # type: ignore[method-assign]
    runner.hold.clear()
    config = EngineConfig(max_num_seqs=1, max_failures=1)
    with running(runner, config) as engine:
        [good, bad] = engine.submit([(echo_source(5), GREEDY), ([1, 77, 3], GREEDY)])
        runner.hold.set()
        assert good.future.result(60)[0].ids == echo_of(echo_source(5))
        with pytest.raises(errors.StepFailedError):
            bad.future.result(60)
        assert engine.is_alive, "it has just translated a good one"


def test_results_are_delivered_between_packing_and_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, pack = EchoRunner(), packing.pack
    decode = runner.decode
    seen: list[tuple[str, bool]] = []
    sequences: list[DecodingSequence] = []

    def see(what: str) -> None:
        if engine.num_running == 1 == len(engine._workers[0].batch):  # only the second is left
            seen.append((what, sequences[0].future.done()))

    def packed(*arguments: Any) -> packing.Packing:
        see("packing")
        return pack(*arguments)

    def decoded(*arguments: Any) -> PackedRun:
        see("run")
        return decode(*arguments)

    monkeypatch.setattr(packing, "pack", packed)
    monkeypatch.setattr(runner, "decode", decoded)
    runner.hold.clear()
    with running(runner) as engine:
        sequences += engine.submit([(echo_source(n), GREEDY) for n in (2, 40)])
        runner.hold.set()
        sequences[1].future.result(60)
    assert seen[:2] == [("packing", False), ("run", True)]


def test_an_error_outside_a_step_fails_all_futures() -> None:
    broken = False

    def clock() -> float:
        if broken:
            raise OSError("no clock")
        return 0.0

    runner = EchoRunner()
    runner.hold.clear()
    with running(runner, EngineConfig(max_num_seqs=1), clock=clock) as engine:
        sequences = engine.submit([(echo_source(30), GREEDY)] * 3)
        broken = True
        runner.hold.set()
        for sequence in sequences:
            assert isinstance(sequence.future.exception(10), errors.EngineDeadError)
        assert not engine.is_alive


def test_all_sentences_of_a_request_are_admitted_or_none() -> None:
    runner = EchoRunner()
    runner.hold.clear()
    with running(runner, EngineConfig(max_num_seqs=1, max_waiting=3)) as engine:
        engine.submit([(echo_source(3), GREEDY)])
        wait_until(lambda: engine.num_waiting == 0)
        engine.submit([(echo_source(3), GREEDY)] * 2)
        with pytest.raises(
            errors.QueueFullError, match=r"2 sentences wait and 2 more .* limit of 3"
        ):
            engine.submit([(echo_source(3), GREEDY)] * 2)
        wait_until(lambda: engine.num_waiting == 2)


def test_sentences_fail_when_their_deadline_passes() -> None:
    now = 0.0
    runner = EchoRunner()
    runner.hold.clear()
    with running(runner, EngineConfig(max_num_seqs=1), clock=lambda: now) as engine:
        sequences = engine.submit([(echo_source(30), GREEDY)] * 2, deadline=5.0)
        now = 6.0
        runner.hold.set()
        for sequence in sequences:
            with pytest.raises(
                errors.DeadlineExceededError, match=r"6.000 s; the deadline was 5.000 s"
            ):
                sequence.future.result(60)


def test_drain_finishes_pending_work_and_refuses_new_work() -> None:
    with running(EchoRunner(0.001)) as engine:
        sequences = engine.submit([(echo_source(20), GREEDY)] * 12)
        assert engine.drain(20)
        assert all(sequence.future.done() for sequence in sequences)
        with pytest.raises(errors.NotReadyError):
            engine.submit([(echo_source(3), GREEDY)])


def test_close_resolves_all_futures() -> None:
    runner = EchoRunner()
    runner.hold.clear()
    with running(runner, EngineConfig(max_num_seqs=1)) as engine:
        sequences = engine.submit([(echo_source(30), GREEDY)] * 5)

        def release() -> None:
            wait_until(lambda: engine._shared.closing)
            runner.hold.set()

        threading.Thread(target=release).start()
        assert engine.close()
        outcomes = [type(sequence.future.exception(60)) for sequence in sequences]
    assert set(outcomes) == {errors.CancelledError}

"""Estimates of the queue's duration, with a fake clock, and the requests refused because of them."""

from functools import partial

import pytest

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.throughput import KEPT, Throughput
from service.engine.types import DecodingOptions
from service.errors import QueueFullError
from tests.fakes import SPECIAL, EchoRunner, echo_source

OPTIONS = DecodingOptions(max_decoding_length=40)


def steady(cost: int, every: float, count: int) -> Throughput:
    throughput = Throughput()
    for index in range(count):
        throughput.add(cost, index * every, somebody_waits=True)
    return throughput


def test_there_is_no_estimate_without_measurements() -> None:
    throughput = Throughput()
    assert throughput.seconds_for(100, now=5.0) is None
    assert throughput.seconds_in_batch(100) == 0
    throughput.add(10, 1.0, somebody_waits=True)
    assert throughput.seconds_for(100, now=1.0) is None


def test_a_constant_rate_is_estimated_exactly() -> None:
    throughput = steady(cost=20, every=0.1, count=50)  # 200 a second
    assert throughput.seconds_for(1000, now=4.9) == pytest.approx(5.0)


def test_only_recent_sentences_count() -> None:
    throughput = steady(cost=20, every=1.0, count=50)
    for index in range(KEPT):
        throughput.add(20, 50 + index * 0.1, somebody_waits=True)
    assert throughput.seconds_for(1000, now=50 + KEPT * 0.1) == pytest.approx(5.0, rel=0.05)


def test_time_with_an_empty_queue_does_not_count() -> None:
    """An engine without a queue could do more than it does."""
    throughput = steady(cost=20, every=0.1, count=50)
    throughput.add(20, 5.0, somebody_waits=False)
    for second in range(10, 1000):
        throughput.add(1, second, somebody_waits=False)
    assert throughput.seconds_for(1000, now=2000.0) == pytest.approx(5.0)


def test_a_pause_counts() -> None:
    throughput = steady(cost=20, every=0.1, count=11)
    assert throughput.seconds_for(1000, now=1.0) == pytest.approx(5.0)
    assert throughput.seconds_for(1000, now=5.0) == pytest.approx(25.0)


def test_the_time_in_a_batch_follows_recent_sentences() -> None:
    throughput = Throughput()
    throughput.add_run(20, 0.1, is_long=False)
    assert throughput.seconds_in_batch(40) == pytest.approx(0.2)
    for _ in range(200):
        throughput.add_run(400, 4.0, is_long=True)
    assert throughput.seconds_in_batch(40) == pytest.approx(0.4, rel=0.01)


def engine_with_a_queue(now: list[float]) -> Engine:
    """Make an engine at 100 tokens per second, with 10 waiting sentences of 8 tokens."""
    engine = idle_engine(now, 100)
    engine.submit([(echo_source(2), OPTIONS)] * 10)
    return engine


def idle_engine(now: list[float], per_second: int, max_tokens: int = 150) -> Engine:
    """Make an engine of a given speed, whose threads are not started, so that nothing leaves the queue."""
    config = EngineConfig(max_num_seqs=1, max_waiting=12, max_waiting_tokens=max_tokens)
    engine = Engine([EchoRunner()], SPECIAL, config, clock=lambda: now[0])
    engine._shared.accepting = True
    for index in range(11):
        at = now[0] - 1.0 + index * 0.1
        engine._shared.throughput.add(per_second / 10, at, somebody_waits=True)
    engine._shared.throughput.add(0, now[0], somebody_waits=False)
    return engine


def test_requests_that_cannot_meet_their_deadline_are_refused() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s, and half as much again to be on the safe side
    with pytest.raises(QueueFullError, match=r"may take 1\.2 s, and the deadline is 1\.1 s"):
        engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 1.1)
    engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 1.3)


def test_a_further_search_of_an_admitted_request_is_not_refused() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s
    further = [(echo_source(2), OPTIONS)] * 3  # more than the queue has room for
    with pytest.raises(QueueFullError, match="10 sentences wait and 3 more would exceed"):
        engine.submit(further)
    assert len(engine.submit(further, now[0] + 0.1, is_further=True)) == 3
    assert engine.num_waiting == 13


def test_further_searches_take_no_room_from_new_requests() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # which has room for 2 more sentences, and 70 tokens
    item = [(echo_source(2), OPTIONS)]
    further = engine.submit(item * 30, is_further=True)
    engine.submit(item)
    engine.abort(further)
    engine.submit(item)
    with pytest.raises(QueueFullError, match="12 sentences wait and 1 more would exceed"):
        engine.submit(item)


def test_the_average_time_in_a_batch_counts_if_others_wait() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)
    engine._shared.throughput.add_run(8, 0.4, is_long=False)  # beside 0.8 s in line
    assert engine.shortest_wait == pytest.approx(1.8)
    submit = partial(engine.submit, [(echo_source(2), OPTIONS)])
    for check in (engine.check_deadline, submit):
        with pytest.raises(QueueFullError, match=r"may take 1\.8 s, and the deadline is 1\.7 s"):
            check(now[0] + 1.7)


def test_long_sentences_in_a_batch_do_not_count_for_short_ones() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s
    engine._shared.throughput.add_run(8, 0.4, is_long=False)
    engine._shared.throughput.add_run(400, 9.0, is_long=True)
    assert engine.shortest_wait == pytest.approx(1.8)


def test_an_empty_request_does_not_wait_for_others() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s
    assert engine.submit([], now[0] + 0.1) == []
    with pytest.raises(QueueFullError, match=r"may take 0\.3 s, and the deadline is 0\.2 s"):
        engine.submit([], now[0] + 0.2, seconds_after=0.2)


def test_nothing_is_refused_for_its_estimate_while_nobody_waits() -> None:
    """The last queue may have been slow: its process was suspended, or its searches were costly ones."""
    now = [100.0]
    engine = idle_engine(now, per_second=10)
    items = [(echo_source(2), OPTIONS)] * 10
    [first, *_] = engine.submit(items, deadline=now[0] + 0.1)  # 8 s at that speed
    assert first.estimated is None  # so its duration is no error of an estimate
    with pytest.raises(QueueFullError, match=r"may take 12\.0 s, and the deadline is 11\.9 s"):
        engine.submit(items[:1], deadline=now[0] + 11.9)


def test_the_time_of_a_long_sentence_in_a_batch_counts() -> None:
    """It ends later than the queue."""
    now = [100.0]
    engine = idle_engine(now, per_second=100, max_tokens=1000)
    engine._shared.throughput.add_run(220, 2.0, is_long=True)
    long = [(echo_source(108), OPTIONS)]  # costs 280
    engine.submit([(echo_source(2), OPTIONS)] * 10)
    with pytest.raises(QueueFullError, match=r"may take 4\.2 s, and the deadline is 4\.1 s"):
        engine.submit(long, deadline=now[0] + 4.1)
    engine.submit(long, deadline=now[0] + 4.3)


def test_a_hopeless_deadline_is_refused_before_preparation() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s
    with pytest.raises(QueueFullError, match=r"may take 1\.2 s, and the deadline is 1\.1 s"):
        engine.check_deadline(now[0] + 1.1)
    engine.check_deadline(now[0] + 1.3)


def test_work_after_the_search_counts() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)  # 0.8 s
    item = [(echo_source(2), OPTIONS)]
    with pytest.raises(QueueFullError, match=r"may take 2\.7 s, and the deadline is 2\.5 s"):
        engine.submit(item, now[0] + 2.5, seconds_after=1.0)
    engine.submit(item, now[0] + 2.8, seconds_after=1.0)
    idle = Engine([EchoRunner()], SPECIAL, EngineConfig(), clock=lambda: now[0])
    idle._shared.accepting = True
    with pytest.raises(QueueFullError, match=r"may take 10\.5 s, and the deadline is 5\.0 s"):
        idle.submit(item, now[0] + 5.0, seconds_after=7.0)
    idle.submit(item, now[0] + 11.0, seconds_after=7.0)


def test_a_full_queue_reports_when_to_retry() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)
    assert engine.expected_wait == pytest.approx(0.8)
    for count, limit in ((3, "the limit of 12"), (1, "the limit of 150")):
        source = echo_source(2 if count == 3 else 60)
        with pytest.raises(QueueFullError, match=limit) as refused:
            engine.submit([(source, OPTIONS)] * count)
        assert refused.value.retry_after == pytest.approx(0.8)


def test_retry_after_is_at_most_the_last_deadline() -> None:
    """Sentences that miss their deadline leave the queue."""
    now = [100.0]
    engine = idle_engine(now, per_second=1)
    for seconds in (20.0, 90.0, 50.0):
        engine.submit([(echo_source(2), OPTIONS)], None if seconds == 20 else now[0] + 1000)
        engine._shared.scheduler.last_deadline = now[0] + seconds
    assert engine.expected_wait == pytest.approx(24.0)


def test_a_few_sentences_are_not_enough_for_an_estimate() -> None:
    """When the first sentence of a batch has left, the others are not slow: they are about to leave."""
    throughput = Throughput()
    for at in (0.0, 0.001, 0.5):
        throughput.add(20, at, somebody_waits=True)
        assert throughput.seconds_for(10_000, now=at + 0.5) is None
    for _ in range(14):
        throughput.add(20, 0.5, somebody_waits=True)
    assert throughput.seconds_for(10_000, now=0.5) == pytest.approx(0.5 / 16 / 20 * 10_000)


def test_expired_sentences_widen_the_margin_and_cancelled_ones_do_not() -> None:
    now = [100.0]
    engine = engine_with_a_queue(now)
    item = [(echo_source(2), OPTIONS)]
    engine.submit(item, deadline=now[0] + 1.3)  # 0.8 s were estimated
    [cancelled] = engine.submit(item, deadline=now[0] + 9.0)
    now[0] += 1.4
    assert engine._workers[0]._next_schedule() is not None
    assert engine._shared.margin.added_to(1.0) == pytest.approx(1.6)
    now[0] += 9
    waiting = engine.num_waiting
    engine.abort([cancelled])
    assert engine.num_waiting == waiting - 1
    assert engine._shared.margin.added_to(1.0) == pytest.approx(1.6)

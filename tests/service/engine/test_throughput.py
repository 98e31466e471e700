"""How long a line will take, by a clock of the test's own; and who is refused for it."""

from functools import partial

import pytest

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.throughput import KEPT, Throughput
from service.engine.types import DecodingOptions
from service.errors import QueueFullError
from tests.fakes import SPECIAL, EchoRunner, echo_source

OPTIONS = DecodingOptions(max_decoding_length=40, beam_size=1)


def steady(cost: int, every: float, count: int) -> Throughput:
    throughput = Throughput()
    for index in range(count):
        throughput.add(cost, index * every, somebody_waits=True)
    return throughput


def test_nothing_is_told_before_anything_is_known() -> None:
    throughput = Throughput()
    assert throughput.seconds_for(100, now=5.0) is None
    assert throughput.seconds_in_batch(100) == 0
    throughput.add(10, 1.0, somebody_waits=True)
    assert throughput.seconds_for(100, now=1.0) is None


def test_a_steady_rate_is_found() -> None:
    throughput = steady(cost=20, every=0.1, count=50)  # 200 a second
    assert throughput.seconds_for(1000, now=4.9) == pytest.approx(5.0)


def test_only_the_last_sentences_count() -> None:
    throughput = steady(cost=20, every=1.0, count=50)
    for index in range(KEPT):
        throughput.add(20, 50 + index * 0.1, somebody_waits=True)
    assert throughput.seconds_for(1000, now=50 + KEPT * 0.1) == pytest.approx(5.0, rel=0.05)


def test_time_in_which_nobody_waits_does_not_count_but_what_was_learnt_stays() -> None:
    """An engine that has little to do does little, and could do more."""
    throughput = steady(cost=20, every=0.1, count=50)
    throughput.add(20, 5.0, somebody_waits=False)
    for second in range(10, 1000):
        throughput.add(1, second, somebody_waits=False)
    assert throughput.seconds_for(1000, now=2000.0) == pytest.approx(5.0)


def test_a_standstill_counts() -> None:
    throughput = steady(cost=20, every=0.1, count=11)
    assert throughput.seconds_for(1000, now=1.0) == pytest.approx(5.0)
    assert throughput.seconds_for(1000, now=5.0) == pytest.approx(25.0)


def test_how_long_a_sentence_is_in_a_batch_follows_the_latest() -> None:
    throughput = Throughput()
    throughput.add_run(20, 0.1)
    assert throughput.seconds_in_batch(40) == pytest.approx(0.2)
    for _ in range(200):
        throughput.add_run(400, 4.0)
    assert throughput.seconds_in_batch(40) == pytest.approx(0.4, rel=0.01)


def engine_with_a_line(now: list[float]) -> Engine:
    """100 tokens a second, and 10 sentences of 8 tokens each that wait."""
    engine = idle_engine(now, 100)
    engine.submit([(echo_source(2), OPTIONS)] * 10)
    return engine


def idle_engine(now: list[float], per_second: int, max_tokens: int = 150) -> Engine:
    """One that did so much work a second; its threads are not started, and nobody leaves the line."""
    config = EngineConfig(max_num_seqs=1, max_waiting=12, max_waiting_tokens=max_tokens)
    engine = Engine([EchoRunner()], SPECIAL, config, clock=lambda: now[0])
    engine._shared.accepting = True
    for index in range(11):
        at = now[0] - 1.0 + index * 0.1
        engine._shared.throughput.add(per_second / 10, at, somebody_waits=True)
    engine._shared.throughput.add(0, now[0], somebody_waits=False)
    return engine


def test_what_cannot_be_done_in_time_is_refused_at_once() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.8 s, and half as much again to be on the safe side
    with pytest.raises(QueueFullError, match=r"may take 1\.2 s, and the deadline is 1\.1 s"):
        engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 1.1)
    engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 1.3)


def test_the_usual_time_in_a_batch_counts_behind_a_line_before_and_after_preparation() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)
    engine._shared.throughput.add_run(8, 0.4)  # beside 0.8 s in line
    assert engine.shortest_wait == pytest.approx(1.8)
    submit = partial(engine.submit, [(echo_source(2), OPTIONS)])
    for check in (engine.check_deadline, submit):
        with pytest.raises(QueueFullError, match=r"may take 1\.8 s, and the deadline is 1\.7 s"):
            check(now[0] + 1.7)


def test_whoever_wants_nothing_waits_for_nobody() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.8 s
    assert engine.submit([], now[0] + 0.1) == []
    with pytest.raises(QueueFullError, match=r"may take 0\.3 s, and the deadline is 0\.2 s"):
        engine.submit([], now[0] + 0.2, seconds_after=0.2)


def test_so_it_is_where_nobody_waits_for_a_long_request() -> None:
    now = [100.0]
    engine = idle_engine(now, per_second=10)
    items = [(echo_source(2), OPTIONS)] * 10
    with pytest.raises(QueueFullError, match=r"may take 8\.0 s, and the deadline is 7\.5 s"):
        engine.submit(items, deadline=now[0] + 7.5)
    engine.submit(items, deadline=now[0] + 8.5)


def test_the_time_in_a_batch_counts_of_a_long_sentence_beside_others() -> None:
    """It is not done when the last of the line begins."""
    now = [100.0]
    engine = idle_engine(now, per_second=100, max_tokens=1000)
    engine._shared.throughput.add_run(220, 2.0)
    long = [(echo_source(108), OPTIONS)]  # costs 280
    with pytest.raises(QueueFullError, match=r"may take 2\.8 s, and the deadline is 2\.7 s"):
        engine.submit(long, deadline=now[0] + 2.7)
    engine.submit([(echo_source(2), OPTIONS)] * 10)
    with pytest.raises(QueueFullError, match=r"may take 4\.2 s, and the deadline is 4\.1 s"):
        engine.submit(long, deadline=now[0] + 4.1)
    engine.submit(long, deadline=now[0] + 4.3)


def test_what_would_be_too_late_if_it_were_nothing_is_refused_before_it_is_known() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.8 s
    with pytest.raises(QueueFullError, match=r"may take 1\.2 s, and the deadline is 1\.1 s"):
        engine.check_deadline(now[0] + 1.1)
    engine.check_deadline(now[0] + 1.3)


def test_work_behind_the_search_counts_whether_or_not_anybody_waits_for_the_engine() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.8 s
    item = [(echo_source(2), OPTIONS)]
    with pytest.raises(QueueFullError, match=r"may take 2\.7 s, and the deadline is 2\.5 s"):
        engine.submit(item, now[0] + 2.5, seconds_after=1.0)
    engine.submit(item, now[0] + 2.8, seconds_after=1.0)
    idle = Engine([EchoRunner()], SPECIAL, EngineConfig(), clock=lambda: now[0])
    idle._shared.accepting = True
    with pytest.raises(QueueFullError, match=r"may take 10\.5 s, and the deadline is 5\.0 s"):
        idle.submit(item, now[0] + 5.0, seconds_after=7.0)
    idle.submit(item, now[0] + 11.0, seconds_after=7.0)


def test_a_full_line_tells_when_it_will_be_done() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)
    assert engine.expected_wait == pytest.approx(0.8)
    for count, limit in ((3, "the limit of 12"), (1, "the limit of 150")):
        source = echo_source(2 if count == 3 else 60)
        with pytest.raises(QueueFullError, match=limit) as refused:
            engine.submit([(source, OPTIONS)] * count)
        assert refused.value.retry_after == pytest.approx(0.8)


def test_nobody_is_told_to_wait_for_longer_than_anything_may_wait() -> None:
    """What is not done by its deadline is given up, and is in nobody's way."""
    now = [100.0]
    engine = idle_engine(now, per_second=1)
    for seconds in (20.0, 90.0, 50.0):
        engine.submit([(echo_source(2), OPTIONS)], None if seconds == 20 else now[0] + 1000)
        engine._shared.scheduler.last_deadline = now[0] + seconds
    assert engine.expected_wait == pytest.approx(24.0)


def test_few_sentences_tell_nothing_of_a_whole_batch_that_is_about_to_leave() -> None:
    """One has left, others that began with it have not yet: they are no slow ones."""
    throughput = Throughput()
    for at in (0.0, 0.001, 0.5):
        throughput.add(20, at, somebody_waits=True)
        assert throughput.seconds_for(10_000, now=at + 0.5) is None
    for _ in range(14):
        throughput.add(20, 0.5, somebody_waits=True)
    assert throughput.seconds_for(10_000, now=0.5) == pytest.approx(0.5 / 16 / 20 * 10_000)


def test_what_was_late_in_line_widens_the_margin_and_what_was_cancelled_does_not() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)
    item = [(echo_source(2), OPTIONS)]
    engine.submit(item, deadline=now[0] + 1.3)  # 0.8 s were estimated
    [cancelled] = engine.submit(item, deadline=now[0] + 9.0)
    now[0] += 1.4
    assert engine._workers[0]._next_schedule() is not None
    assert engine._shared.margin.added_to(1.0) == pytest.approx(1.6)
    cancelled.future.cancel()
    now[0] += 9
    assert engine._workers[0]._next_schedule() is not None
    assert engine._shared.margin.added_to(1.0) == pytest.approx(1.6)

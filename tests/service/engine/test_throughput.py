"""How long a line will take, by a clock of the test's own; and who is refused for it."""

import pytest

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.throughput import KEPT, Throughput
from service.engine.types import DecodingOptions
from service.errors import QueueFullError
from tests.fakes import SPECIAL, EchoRunner, echo_source

OPTIONS = DecodingOptions(max_decoding_length=40, beam_size=1)


def steady(tokens: int, every: float, count: int) -> Throughput:
    throughput = Throughput()
    for index in range(count):
        throughput.add(tokens, index * every)
    return throughput


def test_nothing_is_told_before_anything_is_known() -> None:
    throughput = Throughput()
    assert throughput.seconds_for(100, now=5.0) is None
    throughput.add(10, 1.0)
    assert throughput.seconds_for(100, now=1.0) is None


def test_a_steady_rate_is_found() -> None:
    throughput = steady(tokens=20, every=0.1, count=50)  # 200 tokens a second
    assert throughput.seconds_for(1000, now=4.9) == pytest.approx(5.0)


def test_only_the_last_sentences_count() -> None:
    throughput = steady(tokens=20, every=1.0, count=50)
    for index in range(KEPT):
        throughput.add(20, 50 + index * 0.1)
    assert throughput.seconds_for(1000, now=50 + KEPT * 0.1) == pytest.approx(5.0, rel=0.05)


def test_idle_time_does_not_count_but_what_was_learnt_stays() -> None:
    throughput = steady(tokens=20, every=0.1, count=50)
    throughput.restart(now=1000.0)
    assert throughput.seconds_for(1000, now=1000.0) == pytest.approx(5.0, rel=0.01)


def engine_with_a_line(now: list[float]) -> Engine:
    """100 tokens a second, and 10 sentences of 8 tokens each that wait."""
    config = EngineConfig(max_num_seqs=1, max_waiting=12, max_waiting_tokens=150)
    engine = Engine([EchoRunner()], SPECIAL, config, clock=lambda: now[0])
    engine._shared.accepting = True  # its threads are not started: nobody leaves the line
    engine.submit([(echo_source(2), OPTIONS)] * 10)
    for index in range(11):
        engine._shared.throughput.add(10, now[0] - 1.0 + index * 0.1)
    return engine


def test_what_cannot_be_done_in_time_is_refused_at_once() -> None:
    now = [100.0]
    engine = engine_with_a_line(
        now
    )  # one request of 80 tokens, all of which have their turn before
    with pytest.raises(QueueFullError, match=r"about 0\.9 s, and the deadline is 0\.5 s"):
        engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 0.5)
    engine.submit([(echo_source(2), OPTIONS)], deadline=now[0] + 1.2)


def test_what_would_be_too_late_if_it_were_nothing_is_refused_before_it_is_known() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.8 s, and a quarter more to be on the safe side
    with pytest.raises(QueueFullError, match=r"about 0\.8 s, and the deadline is 0\.9 s"):
        engine.check_deadline(now[0] + 0.9)
    engine.check_deadline(now[0] + 1.1)


def test_work_behind_the_search_counts_whether_or_not_anybody_waits_for_the_engine() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)  # 0.9 s with one more sentence
    item = [(echo_source(2), OPTIONS)]
    with pytest.raises(QueueFullError, match=r"about 1\.9 s, and the deadline is 2\.0 s"):
        engine.submit(item, now[0] + 2.0, seconds_after=1.0)
    engine.submit(item, now[0] + 2.5, seconds_after=1.0)
    idle = Engine([EchoRunner()], SPECIAL, EngineConfig(), clock=lambda: now[0])
    idle._shared.accepting = True
    with pytest.raises(QueueFullError, match=r"about 7\.0 s, and the deadline is 5\.0 s"):
        idle.submit(item, now[0] + 5.0, seconds_after=7.0)
    idle.submit(item, now[0] + 9.0, seconds_after=7.0)


def test_a_full_line_tells_when_it_will_be_done() -> None:
    now = [100.0]
    engine = engine_with_a_line(now)
    assert engine.expected_wait == pytest.approx(0.8)
    for count, limit in ((3, "the limit of 12"), (1, "the limit of 150")):
        source = echo_source(2 if count == 3 else 60)
        with pytest.raises(QueueFullError, match=limit) as refused:
            engine.submit([(source, OPTIONS)] * count)
        assert refused.value.retry_after == pytest.approx(0.8)

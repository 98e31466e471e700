"""Turns of requests in the queue, without threads or a real clock."""

import math
import random

from service.engine.config import EngineConfig
from service.engine.scheduler import TURN_COST, Scheduler
from service.engine.types import DecodingOptions, DecodingSequence
from tests.service.engine.sequences import add_each, sequence


def test_the_longest_sentences_of_a_request_go_first() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    scheduler.add([sequence(length) for length in (4, 9, 2, 7)])
    assert [len(s.source_ids) for s in scheduler.schedule(0, now=0.0).admitted] == [9, 7]


def test_a_short_request_does_not_wait_for_a_long_document() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    document, short = [sequence(10) for _ in range(50)], sequence(3)
    scheduler.add(document)
    running = scheduler.schedule(0, now=0.0).admitted
    scheduler.add([short])
    scheduler.release(0, running[0])
    scheduler.release(0, running[1])
    assert scheduler.schedule(0, now=0.0).admitted == [short, document[2]]


def test_requests_take_turns_by_tokens() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    scheduler.add(long := [sequence(30) for _ in range(20)])
    scheduler.add(short := [sequence(10) for _ in range(60)])
    done: set[DecodingSequence] = set()
    for _ in range(40):
        [served] = scheduler.schedule(0, now=0.0).admitted
        scheduler.release(0, served)
        done.add(served)
    tokens = [sum(10 * (s in done) for s in short), sum(30 * (s in done) for s in long)]
    assert abs(tokens[0] - tokens[1]) <= 30


def test_searches_that_take_longer_have_fewer_turns() -> None:
    """With the bundled model, eight beams with reranking took 2.6 times as long as four without."""
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    wide = DecodingOptions(max_decoding_length=50, beam_size=8, channel_tag=3)
    scheduler.add(slow := [DecodingSequence(tuple(range(10)), wide, 0.0) for _ in range(40)])
    scheduler.add([sequence(10) for _ in range(40)])
    served = []
    for _ in range(40):
        served += scheduler.schedule(0, now=0.0).admitted
        scheduler.release(0, served[-1])
    num_slow = len(set(served) & set(slow))
    assert 2.5 <= (40 - num_slow) / num_slow <= 3.5


def test_short_sentences_do_not_starve_a_long_one() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=100))
    running = [sequence(5, limit=10) for _ in range(3)]
    add_each(scheduler, running)
    assert len(scheduler.schedule(0, now=0.0).admitted) == 3
    scheduler.add([long := sequence(45, limit=85)])
    for _ in range(10):
        scheduler.add([sequence(2, limit=4)])
        if running:
            scheduler.release(0, running.pop())
        if long in scheduler.schedule(0, now=0.0).admitted:
            break
    assert long in scheduler.running[0]
    assert not running


def test_the_sentences_of_a_paragraph_are_served_in_one_turn() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    scheduler.add(before := [sequence(10)])
    scheduler.add(paragraph := [sequence(20), sequence(20), sequence(20)])
    scheduler.add(behind := [sequence(10)])
    order = []
    while not scheduler.is_idle:
        order += (admitted := scheduler.schedule(0, now=0.0).admitted)
        scheduler.release(0, admitted[0])
        if len(order) < 10:
            scheduler.add([sequence(10)])
    assert order[:5] == [*before, *paragraph, *behind]


def test_a_new_request_waits_for_paragraphs_and_an_even_share_of_documents() -> None:
    scheduler = Scheduler(EngineConfig())
    scheduler.add([sequence(10)] * 3)  # 60 tokens, served in one turn
    scheduler.add([sequence(TURN_COST // 8)] * 8)  # twice as many as one turn has
    assert scheduler.cost_before(20) == 60 + 20


def test_cost_before_is_exact_through_random_operations() -> None:
    rng = random.Random(0)
    scheduler = Scheduler(EngineConfig(max_num_seqs=4))
    requests: list[list[DecodingSequence]] = []
    for _ in range(200):
        lengths = [rng.randint(1, TURN_COST // 4) for _ in range(rng.choice([1, 1, 2, 9]))]
        scheduler.add(request := [sequence(length) for length in lengths])
        requests.append(request)
        for one in scheduler.schedule(0, now=0.0).admitted:
            if rng.random() < 0.9:
                scheduler.release(0, one)
        tokens, expected = rng.randint(2, 600), 0
        for request in requests:
            cost = sum(one.cost for one in request if math.isnan(one.joined))
            in_one_turn = sum(one.cost for one in request) <= TURN_COST
            expected += cost if in_one_turn else min(cost, tokens)
        assert scheduler.cost_before(tokens) == expected
    scheduler.clear()
    assert scheduler.cost_before(100) == 0


def test_new_requests_do_not_starve_the_second_turn_of_another() -> None:
    """If all were served at the same rate, two sentences would take twice as long as one."""
    scheduler = Scheduler(EngineConfig(max_num_seqs=4))
    scheduler.add([sequence(TURN_COST) for _ in range(4)])
    running = scheduler.schedule(0, now=0.0).admitted
    scheduler.add(pair := [sequence(TURN_COST) for _ in range(2)])
    others = 30
    add_each(scheduler, [sequence(TURN_COST) for _ in range(others)])
    served = 0
    while math.isnan(pair[1].joined):
        scheduler.release(0, running.pop(0))
        running += scheduler.schedule(0, now=0.0).admitted
        scheduler.add([sequence(TURN_COST)])
        served += 1
    assert others < served <= 2 * (others + 1) + 4


def test_aborted_sentences_leave_the_queue_at_once() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1, max_waiting=3))
    line = [sequence() for _ in range(3)]
    scheduler.add(line)
    scheduler.abort(line[:2])
    assert (scheduler.num_waiting, scheduler.new_tokens) == (1, line[2].cost)
    assert scheduler.schedule(0, now=0.0).admitted == [line[2]]
    assert (scheduler.num_waiting, scheduler.new_tokens) == (0, 0)


def test_a_forced_prefix_counts_as_work() -> None:
    options = DecodingOptions(200, target_prefix=tuple(range(50)))
    plain = DecodingSequence((1, 2, 3), DecodingOptions(200), arrived=0.0)
    forced = DecodingSequence((1, 2, 3), options, arrived=0.0)
    assert (plain.tokens, forced.tokens) == (6, 100)
    assert forced.cost > 10 * plain.cost


def test_tokens_of_long_sentences_cost_more() -> None:
    """Because of attention, a token costs twice as much in a sentence of 400, by measurement."""
    assert sequence(10).cost == 20
    assert sequence(400).cost == 2 * 40 * sequence(10).cost


def test_long_sentences_leave_a_row_for_short_requests() -> None:
    """Two of these fill the batch for seconds, and the third is ahead of new requests."""
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=5120))
    source, options = tuple(range(500)), DecodingOptions(550, beam_size=4)
    document = [DecodingSequence(source, options, arrived=0.0) for _ in range(10)]
    scheduler.add(document)
    assert 2 * document[0].footprint <= 5120 < 3 * document[0].footprint
    assert scheduler.schedule(0, now=0.0).admitted == document[:1]
    for _ in range(20):
        scheduler.add(short := [sequence(5)])
        assert scheduler.schedule(0, now=0.0).admitted == short
        scheduler.release(0, *short)
    scheduler.release(0, document[0])
    assert scheduler.schedule(0, now=0.0).admitted == document[1:2]


def test_short_requests_take_only_the_row_that_long_sentences_leave() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    scheduler.add(document := [sequence(150) for _ in range(3)])
    assert scheduler.schedule(0, now=0.0).admitted == document[:1]
    running = []
    for _ in range(5):
        scheduler.add([sequence(5)])
        running += scheduler.schedule(0, now=0.0).admitted
    assert len(running) == 1
    scheduler.release(0, document[0])
    served: list[DecodingSequence] = []
    while document[1] not in scheduler.running[0]:
        scheduler.add([sequence(5)])
        served += scheduler.schedule(0, now=0.0).admitted
        scheduler.release(0, running.pop(0))
        running += [one for one in served if one in scheduler.running[0]][:1]
        assert (
            sum(one.cost for one in served) <= 8 * document[0].cost
        )  # as many shares of the turns

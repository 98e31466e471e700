"""The queue, without threads or a real clock."""

import random

from service.engine.config import EngineConfig
from service.engine.scheduler import WINDOW, Schedule, Scheduler
from service.engine.types import DecodingOptions, DecodingSequence
from tests.service.engine.sequences import add_each, sequence


def test_sentences_join_in_order_up_to_the_row_limit() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=3))
    line = [sequence() for _ in range(5)]
    scheduler.add(line)
    assert scheduler.schedule(0, now=1.0).admitted == line[:3]
    assert scheduler.schedule(0, now=1.0).admitted == []
    scheduler.release(0, line[1])
    assert scheduler.schedule(0, now=2.0).admitted == [line[3]]
    assert scheduler.running == [{line[0], line[2], line[3]}]
    assert scheduler.num_waiting == 1


def test_the_token_budget_is_never_exceeded_whatever_the_lengths() -> None:
    config = EngineConfig(max_num_seqs=16, max_num_batched_tokens=200)
    scheduler = Scheduler(config)
    lengths = [3, 40, 7, 50, 1, 99, 20, 20, 20, 5, 64, 2, 2, 2]
    add_each(scheduler, [sequence(length, limit=length) for length in lengths])
    served: list[DecodingSequence] = []
    running: list[DecodingSequence] = []
    most = 0
    while len(served) < len(lengths):
        running += scheduler.schedule(0, now=0.0).admitted
        padded = len(running) * max(len(s.source_ids) for s in running)
        assert padded <= 200 or len(running) == 1
        most = max(most, len(running))
        oldest = running.pop(0)
        scheduler.release(0, oldest)
        served.append(oldest)
    assert [len(s.source_ids) for s in served] == lengths
    assert most > 1


def test_the_footprint_bounds_the_entries_of_any_search() -> None:
    """In the worst case, beams share no entries but the forced ones."""
    rng = random.Random(1)
    config = EngineConfig(num_workers=2)
    scheduler = Scheduler(config)
    running: list[list[DecodingSequence]] = [[], []]
    alone = together = 0
    for _ in range(1000):
        while scheduler.num_waiting < 8:
            length = rng.choice([3, 12, 30, 30, 100, 512])
            limit = rng.randint(1, length + 50)
            forced = tuple(range(rng.choice([0, limit // 2])))
            options = DecodingOptions(limit, rng.choice([1, 4, 8]), target_prefix=forced)
            scheduler.add([DecodingSequence(tuple(range(length)), options, arrived=0.0)])
        worker = rng.randrange(2)
        batch = running[worker]
        batch += scheduler.schedule(worker, now=0.0).admitted
        entries = [
            sum(
                1 if position < len(one.options.target_prefix) else one.options.beam_size
                for position in range(one.options.max_decoding_length)
            )
            for one in batch
        ]
        alone += len(batch) == 1
        together = max(together, len(batch))
        assert len(batch) == 1 or sum(entries) <= len(batch) * max(entries) <= 5120
        scheduler.release(worker, batch.pop(rng.randrange(len(batch))))
    assert alone > 10
    assert together > 4


def test_the_default_budget_holds_sixteen_short_sentences_or_one_of_maximum_length() -> None:
    everyday = DecodingOptions(max_decoding_length=28 + 50)
    scheduler = Scheduler(EngineConfig())
    scheduler.add([DecodingSequence(tuple(range(30)), everyday, arrived=0.0) for _ in range(20)])
    assert len(scheduler.schedule(0, now=0.0).admitted) == 16
    largest = DecodingSequence(
        tuple(range(512)), DecodingOptions(510 + 50, beam_size=8), arrived=0.0
    )
    assert largest.footprint <= EngineConfig().max_num_batched_tokens


def test_a_sentence_that_fits_no_budget_still_runs_alone() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=10))
    short, huge = sequence(1), sequence(500)
    add_each(scheduler, [short, huge])
    assert scheduler.schedule(0, now=0.0).admitted == [short]
    scheduler.release(0, short)
    assert scheduler.schedule(0, now=0.0).admitted == [huge]


def test_no_sentence_overtakes_a_long_one_that_waits_for_room() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=100))
    first, long, short = (sequence(length, limit=length) for length in (20, 45, 1))
    add_each(scheduler, [first, long, short])
    assert scheduler.schedule(0, now=0.0).admitted == [first]
    assert scheduler.schedule(0, now=0.0).admitted == []
    scheduler.release(0, first)
    assert scheduler.schedule(0, now=0.0).admitted == [long]


def test_expired_and_cancelled_sentences_leave_the_queue_at_any_position() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    front, late, cancelled, patient = (
        sequence(),
        sequence(deadline=5.0),
        sequence(),
        sequence(deadline=9.0),
    )
    add_each(scheduler, [front, late, cancelled, patient])
    scheduler.abort([cancelled])
    schedule = scheduler.schedule(0, now=5.0)
    assert schedule.admitted == [front]
    assert schedule.removed == [late]
    assert scheduler.num_waiting == 1
    scheduler.release(0, front)
    assert scheduler.schedule(0, now=5.0) == Schedule([patient], [])
    assert scheduler.num_waiting == 0


def test_workers_share_the_work_evenly() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=16))
    scheduler.add([sequence() for _ in range(10)])
    assert [len(scheduler.schedule(worker, now=0.0).admitted) for worker in (0, 1)] == [5, 5]


def admitted_lengths(scheduler: Scheduler, worker: int) -> list[int]:
    return [len(one.source_ids) for one in scheduler.schedule(worker, now=0.0).admitted]


def test_each_worker_takes_its_range_of_lengths_in_queue_order() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=4))
    lengths = [length for pair in zip(range(3, 13), range(43, 53), strict=True) for length in pair]
    add_each(scheduler, [sequence(length) for length in lengths])
    assert admitted_lengths(scheduler, 0) == [43, 44, 45, 46]
    assert admitted_lengths(scheduler, 1) == [3, 4, 5, 6]


def test_three_workers_have_three_ranges() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=3, max_num_seqs=1))
    add_each(scheduler, [sequence(length) for length in (20, 1, 50, 21, 2, 51, 22, 3, 52)])
    assert [admitted_lengths(scheduler, worker) for worker in (0, 1, 2)] == [[50], [20], [1]]


def test_a_worker_takes_other_lengths_if_its_range_is_empty() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=2))
    add_each(scheduler, [sequence(length) for length in (5, 5, 6, 90)])
    assert admitted_lengths(scheduler, 1) == [5, 5]
    assert admitted_lengths(scheduler, 0) == [90, 6]


def test_no_length_starves_while_others_keep_arriving() -> None:
    """A sentence of any length is served at most a few windows late."""
    rng = random.Random(3)
    config = EngineConfig(num_workers=2, max_num_seqs=4)
    scheduler = Scheduler(config)
    ranks: dict[DecodingSequence, int] = {}
    served: list[int] = []
    running: list[list[DecodingSequence]] = [[], []]
    for _ in range(40):
        ranks[one := sequence(rng.choice((3, 8, 20, 21, 40, 90)))] = len(ranks)
        scheduler.add([one])
    for _ in range(2000):
        worker = rng.choice((0, 0, 1))  # one is faster than the other
        if running[worker]:
            scheduler.release(worker, running[worker].pop(0))
        for one in scheduler.schedule(worker, now=0.0).admitted:
            running[worker].append(one)
            served.append(ranks[one])
            ranks[new := sequence(rng.choice((3, 8, 20, 21, 40, 90)))] = len(ranks)
            scheduler.add([new])
    assert len(served) > 1500
    assert max(place - rank for place, rank in enumerate(served)) <= 3 * WINDOW * config.num_workers


def test_clear_returns_all_sentences() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    line = [sequence() for _ in range(4)]
    scheduler.add(line)
    scheduler.schedule(0, now=0.0)
    assert {id(s) for s in scheduler.clear()} == {id(s) for s in line}
    assert scheduler.is_idle


def test_what_is_forgotten_may_still_be_given_up() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    line = [sequence() for _ in range(3)]
    scheduler.add(line)
    scheduler.schedule(0, now=0.0)
    assert set(scheduler.clear()) == set(line)
    scheduler.abort(line)
    assert (scheduler.num_waiting, scheduler.new_tokens, scheduler.waiting_cost) == (0, 0, 0)


def test_sentences_that_have_left_delay_nobody_behind_them() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=4))
    add_each(scheduler, line := [sequence(10) for _ in range(50)])
    costs = scheduler.cost_before(0), scheduler.cost_before(100_000)
    for _ in range(500):
        scheduler.add(short := [sequence(5), sequence(50, deadline=3.0)])
        scheduler.add(long := [sequence(100), sequence(200), sequence(5)])
        scheduler.abort([*long[1:], short[0], long[0]])
    assert scheduler.schedule(0, now=5.0).admitted == line[:4]
    scheduler.abort(line[:4])  # they have joined a batch
    cost = 4 * line[0].cost
    assert (scheduler.cost_before(0), scheduler.cost_before(100_000)) == (
        costs[0] - cost,
        costs[1] - cost,
    )
    assert (scheduler.num_waiting, scheduler.waiting_cost) == (46, 46 * line[0].cost)


def test_the_rest_of_a_request_keeps_its_place_when_some_of_it_leaves() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    scheduler.add(request := [sequence(20), sequence(30), sequence(10)])
    scheduler.add(behind := [sequence(5)])
    scheduler.abort([request[1]])
    for expected in (request[0], request[2], behind[0]):
        assert scheduler.schedule(0, now=0.0).admitted == [expected]
        scheduler.release(0, expected)

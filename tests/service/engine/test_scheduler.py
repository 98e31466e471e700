"""The waiting line, with a clock of paper and no thread."""

import random

from service.engine.config import EngineConfig
from service.engine.scheduler import TURN_TOKENS, WINDOW, Schedule, Scheduler
from service.engine.types import DecodingOptions, DecodingSequence, SequenceStatus

OPTIONS = DecodingOptions(max_decoding_length=50)


def add_each(scheduler: Scheduler, line: list[DecodingSequence]) -> None:
    """Every sentence as a request of its own."""
    for one in line:
        scheduler.add([one])


def sequence(
    length: int = 5, deadline: float | None = None, limit: int | None = None
) -> DecodingSequence:
    """With `limit`, it is searched by one beam for so many tokens."""
    options = DecodingOptions(limit, beam_size=1) if limit else OPTIONS
    return DecodingSequence(tuple(range(length)), options, arrived=0.0, deadline=deadline)


def test_first_come_first_served_up_to_the_row_limit() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=3))
    line = [sequence() for _ in range(5)]
    scheduler.add(line)
    assert scheduler.schedule(0, now=1.0).admitted == line[:3]
    assert scheduler.schedule(0, now=1.0).admitted == []
    scheduler.release(0, line[1])
    assert scheduler.schedule(0, now=2.0).admitted == [line[3]]
    assert [s.status for s in line] == [
        SequenceStatus.RUNNING,
        SequenceStatus.DONE,
        SequenceStatus.RUNNING,
        SequenceStatus.RUNNING,
        SequenceStatus.WAITING,
    ]


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


def test_no_batch_may_hold_more_than_the_budget_whatever_is_asked_for() -> None:
    """Each beam may differ from all others from its first token that is not forced on."""
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


def test_sixteen_everyday_sentences_fit_in_a_batch_and_the_largest_in_the_bundled_model_alone() -> (
    None
):
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


def test_nobody_overtakes_a_long_sentence_that_waits_for_room() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=100))
    first, long, short = (sequence(length, limit=length) for length in (20, 45, 1))
    add_each(scheduler, [first, long, short])
    assert scheduler.schedule(0, now=0.0).admitted == [first]
    assert scheduler.schedule(0, now=0.0).admitted == []
    scheduler.release(0, first)
    assert scheduler.schedule(0, now=0.0).admitted == [long]


def test_late_and_cancelled_sentences_leave_the_line_wherever_they_stand() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1))
    front, late, cancelled, patient = (
        sequence(),
        sequence(deadline=5.0),
        sequence(),
        sequence(deadline=9.0),
    )
    add_each(scheduler, [front, late, cancelled, patient])
    cancelled.future.cancel()
    schedule = scheduler.schedule(0, now=5.0)
    assert schedule.admitted == [front]
    assert schedule.left == [late, cancelled]
    assert scheduler.num_waiting == 1
    scheduler.release(0, front)
    assert scheduler.schedule(0, now=5.0) == Schedule([patient], [])
    assert scheduler.num_waiting == 0


def test_loops_share_the_work_evenly() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=16))
    scheduler.add([sequence() for _ in range(10)])
    assert [len(scheduler.schedule(worker, now=0.0).admitted) for worker in (0, 1)] == [5, 5]


def admitted_lengths(scheduler: Scheduler, worker: int) -> list[int]:
    return [len(one.source_ids) for one in scheduler.schedule(worker, now=0.0).admitted]


def test_each_loop_takes_lengths_of_its_own_in_the_order_of_the_line() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=4))
    lengths = [length for pair in zip(range(3, 13), range(43, 53), strict=True) for length in pair]
    add_each(scheduler, [sequence(length) for length in lengths])
    assert admitted_lengths(scheduler, 0) == [43, 44, 45, 46]
    assert admitted_lengths(scheduler, 1) == [3, 4, 5, 6]


def test_three_loops_have_three_ranges() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=3, max_num_seqs=1))
    add_each(scheduler, [sequence(length) for length in (20, 1, 50, 21, 2, 51, 22, 3, 52)])
    assert [admitted_lengths(scheduler, worker) for worker in (0, 1, 2)] == [[50], [20], [1]]


def test_a_loop_takes_what_there_is_when_nothing_is_of_its_range() -> None:
    scheduler = Scheduler(EngineConfig(num_workers=2, max_num_seqs=2))
    add_each(scheduler, [sequence(length) for length in (5, 5, 6, 90)])
    assert admitted_lengths(scheduler, 1) == [5, 5]
    assert admitted_lengths(scheduler, 0) == [90, 6]


def test_no_length_is_passed_over_for_long_while_others_keep_coming() -> None:
    """Wherever a length lies among those around it, it is served at most a few windows late."""
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


def test_clear_returns_everybody() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    line = [sequence() for _ in range(4)]
    scheduler.add(line)
    scheduler.schedule(0, now=0.0)
    assert {id(s) for s in scheduler.clear()} == {id(s) for s in line}
    assert scheduler.is_idle


def test_a_request_sends_its_longest_sentences_first() -> None:
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
    for _ in range(40):
        [served] = scheduler.schedule(0, now=0.0).admitted
        scheduler.release(0, served)
    tokens = [sum(10 * (s.status is SequenceStatus.DONE) for s in short)]
    tokens.append(sum(30 * (s.status is SequenceStatus.DONE) for s in long))
    assert abs(tokens[0] - tokens[1]) <= 30


def test_a_long_sentence_is_not_starved_by_short_ones_that_keep_coming() -> None:
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
    assert long.status is SequenceStatus.RUNNING
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


def test_a_newcomer_waits_for_whole_paragraphs_and_for_an_even_share_of_documents() -> None:
    scheduler = Scheduler(EngineConfig())
    scheduler.add([sequence(10)] * 3)  # 60 tokens, served in one turn
    scheduler.add([sequence(TURN_TOKENS // 8)] * 8)  # twice as many as one turn has
    assert scheduler.cost_before(20) == 60 + 20


def test_what_waits_before_a_newcomer_is_known_through_any_history() -> None:
    rng = random.Random(0)
    scheduler = Scheduler(EngineConfig(max_num_seqs=4))
    requests: list[list[DecodingSequence]] = []
    for _ in range(200):
        lengths = [rng.randint(1, TURN_TOKENS // 4) for _ in range(rng.choice([1, 1, 2, 9]))]
        scheduler.add(request := [sequence(length) for length in lengths])
        requests.append(request)
        for one in scheduler.schedule(0, now=0.0).admitted:
            if rng.random() < 0.9:
                scheduler.release(0, one)
        tokens, expected = rng.randint(2, 600), 0
        for request in requests:
            cost = sum(one.cost for one in request if one.status is SequenceStatus.WAITING)
            in_one_turn = sum(one.cost for one in request) <= TURN_TOKENS
            expected += cost if in_one_turn else min(cost, tokens)
        assert scheduler.cost_before(tokens) == expected
    scheduler.clear()
    assert scheduler.cost_before(100) == 0


def test_the_second_turn_of_a_request_does_not_wait_for_as_long_as_new_ones_come() -> None:
    """Were all served at once in equal parts, two sentences would take twice as long as one among so many."""
    scheduler = Scheduler(EngineConfig(max_num_seqs=4))
    scheduler.add([sequence(TURN_TOKENS) for _ in range(4)])
    running = scheduler.schedule(0, now=0.0).admitted
    scheduler.add(pair := [sequence(TURN_TOKENS) for _ in range(2)])
    others = 30
    add_each(scheduler, [sequence(TURN_TOKENS) for _ in range(others)])
    served = 0
    while pair[1].status is SequenceStatus.WAITING:
        scheduler.release(0, running.pop(0))
        running += scheduler.schedule(0, now=0.0).admitted
        scheduler.add([sequence(TURN_TOKENS)])
        served += 1
    assert others < served <= 2 * (others + 1) + 4


def test_aborted_sentences_leave_the_line_at_once() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=1, max_waiting=3))
    line = [sequence() for _ in range(3)]
    scheduler.add(line)
    scheduler.abort(line[:2])
    assert (scheduler.num_waiting, scheduler.waiting_tokens) == (1, line[2].cost)
    assert scheduler.schedule(0, now=0.0).admitted == [line[2]]
    assert (scheduler.num_waiting, scheduler.waiting_tokens) == (0, 0)


def test_how_a_translation_is_forced_to_begin_is_work_too() -> None:
    options = DecodingOptions(200, target_prefix=tuple(range(50)))
    plain = DecodingSequence((1, 2, 3), DecodingOptions(200), arrived=0.0)
    forced = DecodingSequence((1, 2, 3), options, arrived=0.0)
    assert (plain.tokens, forced.tokens) == (6, 100)
    assert forced.cost > 10 * plain.cost


def test_a_token_of_a_long_sentence_costs_more() -> None:
    """It attends to all that are before it: measured, twice as much in a sentence of 400."""
    assert sequence(10).cost == 20
    assert sequence(400).cost == 2 * 40 * sequence(10).cost


def test_a_document_of_long_sentences_leaves_a_row_that_short_requests_take_before_its_turn() -> (
    None
):
    """Two of these fill the batch's budget, and take seconds; the third stands before those who come."""
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=5120))
    document = [sequence(500, limit=550) for _ in range(10)]
    options = DecodingOptions(550, beam_size=4)
    for one in document:
        one.options = options
    scheduler.add(document)
    assert 2 * document[0].footprint <= 5120 < 3 * document[0].footprint
    assert scheduler.schedule(0, now=0.0).admitted == document[:1]
    for _ in range(20):
        scheduler.add(short := [sequence(5)])
        assert scheduler.schedule(0, now=0.0).admitted == short
        scheduler.release(0, *short)
    scheduler.release(0, document[0])
    assert scheduler.schedule(0, now=0.0).admitted == document[1:2]


def test_short_ones_that_keep_coming_take_no_more_than_the_row_that_a_long_one_leaves() -> None:
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
    while document[1].status is not SequenceStatus.RUNNING:
        scheduler.add([sequence(5)])
        served += scheduler.schedule(0, now=0.0).admitted
        scheduler.release(0, running.pop(0))
        running += [one for one in served if one.status is SequenceStatus.RUNNING][:1]
        assert (
            sum(one.cost for one in served) <= 8 * document[0].cost
        )  # as many shares of the turns

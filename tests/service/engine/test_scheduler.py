"""The waiting line, with a clock of paper and no thread."""

from service.engine.config import EngineConfig
from service.engine.scheduler import Scheduler
from service.engine.types import DecodingOptions, Sequence, SequenceStatus

OPTIONS = DecodingOptions(max_decoding_length=50)


def sequence(length: int = 5, deadline: float | None = None) -> Sequence:
    return Sequence(tuple(range(length)), OPTIONS, arrived=0.0, deadline=deadline)


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
    scheduler.add([sequence(length) for length in lengths])
    served: list[Sequence] = []
    running: list[Sequence] = []
    while len(served) < len(lengths):
        running += scheduler.schedule(0, now=0.0).admitted
        padded = len(running) * max(2 * len(s.source_ids) for s in running)
        assert padded <= 200 or len(running) == 1
        oldest = running.pop(0)
        scheduler.release(0, oldest)
        served.append(oldest)
    assert [len(s.source_ids) for s in served] == lengths


def test_a_sentence_that_fits_no_budget_still_runs_alone() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=10))
    short, huge = sequence(1), sequence(500)
    scheduler.add([short, huge])
    assert scheduler.schedule(0, now=0.0).admitted == [short]
    scheduler.release(0, short)
    assert scheduler.schedule(0, now=0.0).admitted == [huge]


def test_nobody_overtakes_a_long_sentence_that_waits_for_room() -> None:
    scheduler = Scheduler(EngineConfig(max_num_batched_tokens=100))
    first, long, short = sequence(20), sequence(45), sequence(1)
    scheduler.add([first, long, short])
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
    scheduler.add([front, late, cancelled, patient])
    cancelled.future.cancel()
    schedule = scheduler.schedule(0, now=5.0)
    assert schedule.admitted == [front]
    assert schedule.left == [late, cancelled]
    assert list(scheduler.waiting) == [patient]


def test_loops_share_the_work_evenly() -> None:
    scheduler = Scheduler(EngineConfig(num_loops=2, max_num_seqs=16))
    scheduler.add([sequence() for _ in range(10)])
    assert [len(scheduler.schedule(loop, now=0.0).admitted) for loop in (0, 1)] == [5, 5]


def test_clear_returns_everybody() -> None:
    scheduler = Scheduler(EngineConfig(max_num_seqs=2))
    line = [sequence() for _ in range(4)]
    scheduler.add(line)
    scheduler.schedule(0, now=0.0)
    assert {id(s) for s in scheduler.clear()} == {id(s) for s in line}
    assert scheduler.is_idle

"""The engine: takes sentences in, has its loops translate them, gives hypotheses out.

Each loop is a thread with a batch and a runner of its own; all share one line of waiting sentences. However
an engine ends, no future is left pending.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Items
from concurrent.futures import InvalidStateError
from contextlib import suppress
from functools import partial
from itertools import cycle

from service.engine.batch import Batch
from service.engine.config import EngineConfig
from service.engine.idle import IdleThreads
from service.engine.pace import until_next_look
from service.engine.rerank import Reranker
from service.engine.runner import ModelRunner
from service.engine.scheduler import Schedule, Scheduler
from service.engine.throughput import Throughput
from service.engine.types import DecodingOptions, Hypothesis, Sequence, SpecialIds, StepStats
from service.errors import (
    AttendantError,
    CancelledError,
    DeadlineExceededError,
    EngineDeadError,
    NotReadyError,
    QueueFullError,
    StepFailedError,
)

logger = logging.getLogger(__name__)

SAFETY = 1.25
"""A request is refused if so many times its expected wait would be too late."""


class Engine:
    """Beam search for many sentences at once; every method may be called from any thread."""

    def __init__(
        self,
        runners: Items[ModelRunner],
        special: SpecialIds,
        config: EngineConfig,
        on_step: Callable[[StepStats], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        lone_runner: ModelRunner | None = None,
    ) -> None:
        """Build an engine that is not running yet; `on_step` is called by the loops' threads.

        There are as many `runners` as loops, or fewer, which loops share; `lone_runner` has the same graphs
        with several threads an operator, for a sentence that is alone.
        """
        self.config = config
        self._reranker = Reranker(special, config.num_loops)
        parts = special, self._reranker, lone_runner
        new_batches = cycle(partial(Batch, runner, *parts) for runner in runners)
        self.on_step, self.clock = on_step, clock
        self._scheduler = Scheduler(config)
        lock = threading.RLock()
        self._arrived = IdleThreads(lock)
        """Idle loops; one that is idle leaves nobody waiting, so that nothing else need wake it."""
        self._changed = threading.Condition(lock)
        """Wakes whoever drains."""
        self._accepting, self._closing = False, False
        self._failure: BaseException | None = None
        self._throughput = Throughput()
        self._loops = [_Loop(self, index, next(new_batches)) for index in range(config.num_loops)]
        self._threads = [
            threading.Thread(target=loop.run, name=f"engine-{loop.index}", daemon=True)
            for loop in self._loops
        ]

    def start(self) -> None:
        """Start the loops."""
        self._accepting = True
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the engine works: started, not closed, not given up."""
        return self._failure is None and all(thread.is_alive() for thread in self._threads)

    @property
    def num_waiting(self) -> int:
        """Sentences that wait for a place in a batch."""
        return self._scheduler.num_waiting

    @property
    def num_running(self) -> int:
        """Sentences in a batch."""
        return self._scheduler.num_running

    @property
    def expected_wait(self) -> float | None:
        """Seconds that what waits now should take; None while that cannot be told."""
        with self._changed:
            return self._throughput.seconds_for(self._scheduler.waiting_tokens, self.clock())

    def submit(
        self, items: Items[tuple[Items[int], DecodingOptions]], deadline: float | None = None
    ) -> list[Sequence]:
        """Admit all sentences or none; each one's `future` gives its hypotheses, best first.

        Args:
            items: source ids (tag ... EOS) and options of each sentence.
            deadline: by `clock`, in seconds; what is not done then fails with DeadlineExceededError.

        Raises:
            EngineDeadError, NotReadyError, QueueFullError: nothing was admitted.
        """
        now = self.clock()
        sequences = [Sequence(tuple(ids), options, now, deadline) for ids, options in items]
        with self._changed:
            if self._failure is not None:
                raise EngineDeadError(f"the engine has given up: {self._failure}")
            if not self._accepting:
                raise NotReadyError("the service is not accepting work")
            self._check_room(sequences, now, deadline)
            self._scheduler.add(sequences)
            self._arrived.notify(len(sequences))
        return sequences

    def check_deadline(self, deadline: float) -> None:
        """Refuse a request that would be too late if it were the shortest, before its text is looked at.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        with self._changed:
            self._check_room([], self.clock(), deadline)

    def _check_room(self, sequences: list[Sequence], now: float, deadline: float | None) -> None:
        """Refuse what would wait for too long before it costs anything.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        scheduler, tokens = self._scheduler, sum(sequence.cost for sequence in sequences)
        if scheduler.is_idle:
            self._throughput.restart(now)
        for waiting, more, limit, name in (
            (scheduler.num_waiting, len(sequences), self.config.max_waiting, "sentences"),
            (scheduler.waiting_tokens, tokens, self.config.max_waiting_tokens, "tokens"),
        ):
            if waiting + more > limit and (waiting or name == "sentences"):
                raise QueueFullError(
                    f"{waiting} {name} wait and {more} more would exceed the limit of {limit}",
                    self._throughput.seconds_for(scheduler.waiting_tokens, now),
                )
        if deadline is None or not scheduler.num_waiting:
            return
        wait = self._throughput.seconds_for(scheduler.tokens_before(tokens) + tokens, now)
        if wait is not None and now + SAFETY * wait > deadline:
            raise QueueFullError(
                f"it would take about {wait:.1f} s, and the deadline is {deadline - now:.1f} s from now",
                wait,
            )

    def abort(self, sequences: Items[Sequence]) -> None:
        """Give up sentences that nobody waits for; their rows are free at the next step."""
        with self._changed:
            for sequence in sequences:
                sequence.future.cancel()
            self._scheduler.abort(sequences)
            self._changed.notify_all()

    def drain(self, timeout: float) -> bool:
        """Take nothing new and wait for what is there; whether all was done within `timeout` seconds."""
        with self._changed:
            self._accepting = False
            return self._changed.wait_for(
                lambda: self._is_done or self._failure is not None, timeout
            )

    @property
    def _is_done(self) -> bool:
        """Whether nothing waits, runs or is still to be given out."""
        return self._scheduler.is_idle and not any(loop.found for loop in self._loops)

    def close(self) -> None:
        """Stop; whatever is not done fails with CancelledError."""
        with self._changed:
            self._accepting, self._closing = False, True
            self._arrived.notify_all()
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._reranker.close()
        self._fail_everybody(CancelledError("the engine was closed"))
        self._loops.clear()  # each refers to the engine: sessions would stay until garbage is looked for

    def _give_up(self, failure: BaseException) -> None:
        """Too many failures: refuse everything from now on, and leave nobody waiting."""
        logger.critical("the engine gives up", exc_info=failure)
        with self._changed:
            self._failure = failure
            self._arrived.notify_all()
            self._changed.notify_all()
        self._fail_everybody(EngineDeadError(f"the engine has given up: {failure}"))

    def _fail_everybody(self, error: AttendantError) -> None:
        with self._changed:
            sequences = self._scheduler.clear()
        for sequence in sequences:
            _fail(sequence, error)


class _Loop:
    """One thread and its batch. Its `step` reads as what it does: retire, admit, give out, decode.

    What a step found is given out in the next one, when nothing but the decoder is left to do: whoever waits
    for it wakes up and takes the interpreter's lock, and a thread that still had to admit would stand still.
    """

    def __init__(self, engine: Engine, index: int, new_batch: Callable[[], Batch]) -> None:
        self.engine, self.index, self.new_batch = engine, index, new_batch
        self.batch = new_batch()
        self.failures = 0
        self.step_seconds = math.inf
        self.found: list[tuple[Sequence, list[Hypothesis]]] = []
        """Of the last step, and still to be given out."""

    def run(self) -> None:
        """Step until the engine closes or gives up; however this ends, nobody is left waiting."""
        try:
            while (schedule := self._next_schedule()) is not None:
                self._step_or_fail(schedule)
        except BaseException as error:
            self.engine._give_up(error)
        finally:
            self._give_out()

    def _next_schedule(self) -> Schedule | None:
        """What to do next; waits while there is nothing. None: the end."""
        engine = self.engine
        with engine._changed:
            while True:
                if engine._closing or engine._failure is not None:
                    return None
                schedule = engine._scheduler.schedule(self.index, engine.clock())
                if schedule.left:
                    engine._changed.notify_all()
                if self.batch or schedule.admitted or schedule.left or self.found:
                    return schedule
                engine._arrived.wait()

    def _step_or_fail(self, schedule: Schedule) -> None:
        """A failed step fails its batch; the last of several in a row is raised."""
        try:
            self.step(schedule)
            self.failures = 0
        except Exception as error:
            self.failures += 1
            self._give_out()
            logger.exception("a step failed with %d sentences", len(self.batch))
            self._fail_batch(schedule, error)
            if self.failures >= self.engine.config.max_consecutive_failures:
                raise

    def step(self, schedule: Schedule) -> None:
        """One round of the loop: a few decoder steps for every running sentence."""
        engine, started = self.engine, time.perf_counter()
        now = engine.clock()
        gone = self.batch.retire(lambda sequence: sequence.has_left(now))
        self._release(gone)
        for sequence in (*gone, *schedule.left):
            _fail(sequence, _reason_to_leave(sequence, now))
        before_encode = time.perf_counter()
        self.batch.admit(schedule.admitted)
        encode_seconds = time.perf_counter() - before_encode
        rows = len(self.batch)
        self._give_out()
        if not rows:
            return
        others_wait = engine.num_waiting > 0
        is_alone = rows == 1 == engine.num_running and not others_wait
        steps, stop_after = until_next_look(
            engine.config, rows, self.step_seconds, others_wait=others_wait, is_alone=is_alone
        )
        decoded = self.batch.decode(steps, stop_after, is_alone)
        self.found = decoded.finished
        self.step_seconds = max(decoded.run_seconds, 1e-6) / decoded.steps
        self._release(sequence for sequence, _ in decoded.finished)
        in_model = encode_seconds + decoded.run_seconds + decoded.rerank_seconds
        stats = StepStats(
            loop=self.index,
            rows=rows,
            admitted=len(schedule.admitted),
            steps=decoded.steps,
            source_tokens=sum(len(sequence.source_ids) for sequence in schedule.admitted),
            target_tokens=sum(len(found[0].ids) for _, found in decoded.finished),
            queue_waits=tuple(now - sequence.arrived for sequence in schedule.admitted),
            encode_seconds=encode_seconds,
            decode_seconds=decoded.run_seconds,
            rerank_seconds=decoded.rerank_seconds,
            host_seconds=time.perf_counter() - started - in_model,
        )
        # before they are given out, so that who has an answer finds it counted
        engine.on_step(stats)

    def _give_out(self) -> None:
        """Resolve what the last step found."""
        for sequence, hypotheses in self.found:
            _resolve(sequence, hypotheses)
        self.found = []
        if not self.engine._accepting:
            with self.engine._changed:
                self.engine._changed.notify_all()

    def _release(self, sequences: Iterable[Sequence]) -> None:
        """Tell the scheduler, and whoever waits for the end."""
        with self.engine._changed:
            for sequence in sequences:
                self.engine._scheduler.release(self.index, sequence)
                self.engine._throughput.add(sequence.cost, self.engine.clock())
            self.engine._changed.notify_all()

    def _fail_batch(self, schedule: Schedule, error: Exception) -> None:
        """A failed step fails its rows and nobody else; the batch starts afresh."""
        sequences = {*schedule.admitted, *self.batch.sequences}
        self.batch = self.new_batch()
        self._release(sequences)
        for sequence in (*sequences, *schedule.left):
            _fail(sequence, StepFailedError(f"a step of this batch failed: {error}"))


def _reason_to_leave(sequence: Sequence, now: float) -> AttendantError:
    if sequence.deadline is None:
        return CancelledError("the request was given up by its sender")
    waited = now - sequence.arrived
    allowed = sequence.deadline - sequence.arrived
    return DeadlineExceededError(f"not done after {waited:.3f} s; the deadline was {allowed:.3f} s")


def _resolve(sequence: Sequence, hypotheses: list[Hypothesis]) -> None:
    with suppress(InvalidStateError):  # cancelled, or failed while the engine closed
        sequence.future.set_result(hypotheses)


def _fail(sequence: Sequence, error: AttendantError) -> None:
    with suppress(InvalidStateError):
        sequence.future.set_exception(error)

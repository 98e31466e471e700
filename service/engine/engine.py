"""The conductor: takes sentences in, runs them in flight, gives hypotheses out. No future is left pending.

Each loop is a thread with a batch of its own; all share one line of waiting sentences and one runner. A
loop's `step` reads as what it does: schedule, retire, encode, admit, decode, advance, give out.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Items
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import dataclass

from service.engine import cache
from service.engine.beam import BeamSearch
from service.engine.config import EngineConfig
from service.engine.runner import Caches, DecoderRun, ModelRunner
from service.engine.scheduler import Schedule, Scheduler
from service.engine.types import DecodingOptions, Hypothesis, Sequence, StepStats
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


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids that the search itself needs to know."""

    pad: int
    bos: int
    eos: int


@dataclass(slots=True)
class _Running:
    """A sentence in a batch."""

    sequence: Sequence
    search: BeamSearch


class Engine:
    """Beam search for many sentences at once; every method may be called from any thread."""

    def __init__(
        self,
        runner: ModelRunner,
        special: SpecialIds,
        config: EngineConfig,
        on_step: Callable[[StepStats], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Build an engine that is not running yet; `on_step` is called by the loops' threads."""
        self.runner, self.special, self.config = runner, special, config
        self.on_step, self.clock = on_step, clock
        self._scheduler = Scheduler(config)
        self._changed = threading.Condition()
        self._accepting, self._closing = False, False
        self._failure: BaseException | None = None
        self._threads = [
            threading.Thread(target=_Loop(self, index).run, name=f"engine-{index}", daemon=True)
            for index in range(config.num_loops)
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
        return len(self._scheduler.waiting)

    @property
    def num_running(self) -> int:
        """Sentences in a batch."""
        return self._scheduler.num_running

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
            if not self._scheduler.has_room(len(sequences)):
                raise QueueFullError(
                    f"{len(self._scheduler.waiting)} sentences wait and {len(sequences)} more would exceed "
                    f"the limit of {self.config.max_waiting}"
                )
            self._scheduler.add(sequences)
            self._changed.notify_all()
        return sequences

    def abort(self, sequences: Items[Sequence]) -> None:
        """Give up sentences that nobody waits for; their rows are free at the next step."""
        with self._changed:
            for sequence in sequences:
                sequence.future.cancel()
            self._changed.notify_all()

    def drain(self, timeout: float) -> bool:
        """Take nothing new and wait for what is there; whether all was done within `timeout` seconds."""
        with self._changed:
            self._accepting = False
            return self._changed.wait_for(
                lambda: self._scheduler.is_idle or self._failure is not None, timeout
            )

    def close(self) -> None:
        """Stop; whatever is not done fails with CancelledError."""
        with self._changed:
            self._accepting, self._closing = False, True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._fail_everybody(CancelledError("the engine was closed"))

    def _give_up(self, failure: BaseException) -> None:
        """Too many failures: refuse everything from now on, and leave nobody waiting."""
        logger.critical("the engine gives up", exc_info=failure)
        with self._changed:
            self._failure = failure
            self._changed.notify_all()
        self._fail_everybody(EngineDeadError(f"the engine has given up: {failure}"))

    def _fail_everybody(self, error: AttendantError) -> None:
        with self._changed:
            sequences = self._scheduler.clear()
        for sequence in sequences:
            _fail(sequence, error)


class _Loop:
    """One thread's batch."""

    def __init__(self, engine: Engine, index: int) -> None:
        self.engine, self.index = engine, index
        self.running: list[_Running] = []
        self.state = cache.empty_state()
        self.sources = cache.SourcePool()
        self.caches: Caches | None = None
        self.failures = 0

    def run(self) -> None:
        """Step until the engine closes or gives up; however this ends, nobody is left waiting."""
        try:
            while (schedule := self._next_schedule()) is not None:
                self._step_or_fail(schedule)
        except BaseException as error:
            self.engine._give_up(error)

    def _step_or_fail(self, schedule: Schedule) -> None:
        """A failed step fails its batch; the last of several in a row is raised."""
        try:
            self.step(schedule)
            self.failures = 0
        except Exception as error:
            self.failures += 1
            logger.exception("a step failed with %d sentences", len(self.running))
            self._fail_batch(schedule, error)
            if self.failures >= self.engine.config.max_consecutive_failures:
                raise

    def _next_schedule(self) -> Schedule | None:
        """What to do next; waits while there is nothing. None: the end."""
        engine = self.engine
        with engine._changed:
            while True:
                if engine._closing or engine._failure is not None:
                    return None
                schedule = engine._scheduler.schedule(self.index, engine.clock())
                if schedule.left:
                    engine._changed.notify_all()  # for whoever drains
                if self.running or schedule.admitted or schedule.left:
                    return schedule
                engine._changed.wait()

    def step(self, schedule: Schedule) -> None:
        """One round of the loop: a few decoder steps for every running sentence."""
        engine, started = self.engine, time.perf_counter()
        now = engine.clock()
        for sequence in schedule.left:
            _fail(sequence, _reason_to_leave(sequence, now))
        self._retire(now)
        before_encode = time.perf_counter()
        self._admit(schedule.admitted)
        before_decode = time.perf_counter()
        run = self._decode() if self.running else None
        after_decode = time.perf_counter()
        rows, steps = len(self.running), len(run.scores) if run else 0
        target_tokens = self._advance(run) if run else 0
        engine.on_step(
            StepStats(
                loop=self.index,
                rows=rows,
                admitted=len(schedule.admitted),
                steps=steps,
                source_tokens=sum(len(sequence.source_ids) for sequence in schedule.admitted),
                target_tokens=target_tokens,
                queue_waits=tuple(now - sequence.arrived for sequence in schedule.admitted),
                encode_seconds=before_decode - before_encode,
                decode_seconds=after_decode - before_decode,
                host_seconds=before_encode - started + time.perf_counter() - after_decode,
            )
        )

    def _admit(self, admitted: list[Sequence]) -> None:
        """Encode new sentences and give them rows."""
        if not admitted:
            return
        special = self.engine.special
        for sequence in admitted:
            self.running.append(_Running(sequence, BeamSearch(sequence.options, special.eos)))
        ids, bias = cache.pad_sources([sequence.source_ids for sequence in admitted], special.pad)
        encoded = self.engine.runner.encode(ids, bias)
        self.sources.admit(encoded, [len(sequence.source_ids) for sequence in admitted])
        beam_sizes = [sequence.options.beam_size for sequence in admitted]
        self.state = cache.admit(self.state, beam_sizes, special.bos)

    def _decode(self) -> DecoderRun:
        """A few steps; no row may pass its length limit in them."""
        steps = min(running.search.remaining for running in self.running)
        cross, bias = self.sources.views()
        run = self.engine.runner.decode(
            self.state,
            self.caches,
            cross,
            bias,
            steps=min(steps, self.engine.config.steps_per_run),
            stop_after=1,
        )
        self.state, self.caches = run.state, run.caches
        return run

    def _advance(self, run: DecoderRun) -> int:
        """Take the candidates in, give out what is done; returns how many target tokens that was."""
        for scores, tokens, parents in zip(
            run.scores.tolist(), run.tokens.tolist(), run.parents.tolist(), strict=True
        ):
            for running, *candidates in zip(self.running, scores, tokens, parents, strict=True):
                running.search.advance(*candidates)
        done = [running.search.is_done for running in self.running]
        results = [
            (running.sequence, running.search.hypotheses())
            for running, is_done in zip(self.running, done, strict=True)
            if is_done
        ]
        self._drop(done)
        for sequence, hypotheses in results:
            _resolve(sequence, hypotheses)
        return sum(len(hypotheses[0].ids) for _, hypotheses in results)

    def _retire(self, now: float) -> None:
        """Fail the sentences that nobody waits for any more."""
        leaving = [running.sequence.has_left(now) for running in self.running]
        if any(leaving):
            for sequence in self._drop(leaving):
                _fail(sequence, _reason_to_leave(sequence, now))

    def _drop(self, leaving: list[bool]) -> list[Sequence]:
        """Free the rows of leaving sentences; the next run's gather compacts the caches."""
        order = cache.keep_order(leaving)
        gone = [run.sequence for run, leaves in zip(self.running, leaving, strict=True) if leaves]
        self.running = [self.running[index] for index in order]
        self.sources.retire(order)
        self.state = cache.retire_and_compact(self.state, order)
        if not self.running:
            self.caches = None
        if gone:
            self._release(gone)
        return gone

    def _release(self, sequences: Iterable[Sequence]) -> None:
        """Tell the scheduler, and whoever waits for room or for the end."""
        with self.engine._changed:
            for sequence in sequences:
                self.engine._scheduler.release(self.index, sequence)
            self.engine._changed.notify_all()

    def _fail_batch(self, schedule: Schedule, error: Exception) -> None:
        """A failed step fails its rows and nobody else; the batch starts afresh."""
        sequences = {*schedule.admitted, *(running.sequence for running in self.running)}
        self.running, self.state, self.caches = [], cache.empty_state(), None
        self.sources = cache.SourcePool()
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

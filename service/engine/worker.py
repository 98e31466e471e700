"""One thread of an engine, with its batch."""

import logging
import math
import time
from collections.abc import Callable, Iterable
from functools import partial

from service.engine.batch import Batch, Decoded
from service.engine.scheduler import Schedule
from service.engine.shared import Shared, fail, resolve
from service.engine.step_budget import step_budget
from service.engine.types import DecodingSequence, Hypothesis, StepStats
from service.errors import AttendantError, CancelledError, DeadlineExceededError, StepFailedError

logger = logging.getLogger(__name__)


class Worker:
    """Repeats `step`: retire, admit, deliver, decode.

    The results of a step are delivered in the next one, just before the decoder runs, which releases Python's
    lock: the threads that receive them need that lock. If nothing is left to do, they are delivered at once.
    """

    def __init__(self, shared: Shared, index: int, new_batch: Callable[[], Batch]) -> None:
        self.shared, self.index, self.new_batch = shared, index, new_batch
        self.batch = new_batch()
        self.failures = 0
        """Failed steps, and steps with sentences that failed, since the canary was last translated."""
        self.step_seconds = math.inf
        self.undelivered: list[tuple[DecodingSequence, list[Hypothesis]]] = []
        """Results of the last step, not delivered yet."""

    def run(self) -> None:
        """Work until the engine closes or fails. However this ends, no result is left undelivered."""
        try:
            while (schedule := self._next_schedule()) is not None:
                watch, turns = self.shared.watch, self.shared.turns
                # the wait is watched, too: runs of other engines that hang keep their turns
                waiting = watch.busy("the wait for a turn", turns.num_ended)
                with waiting, turns, watch.busy("a step"):
                    self._step_or_fail(schedule)
        except BaseException as error:
            self.shared.give_up(f"a thread ended with {type(error).__name__}", error)
        finally:
            self._deliver()

    def _next_schedule(self) -> Schedule | None:
        """Wait for work, and return what to do next; None at the end."""
        shared = self.shared
        with shared.lock:
            while True:
                if shared.closing or shared.failure is not None:
                    return None
                schedule = shared.scheduler.schedule(self.index, shared.clock())
                if schedule.removed:
                    for sequence in schedule.removed:
                        shared.note_outcome(sequence, shared.clock())
                    shared.changed.notify_all()
                if self.batch or schedule.admitted or schedule.removed or self.undelivered:
                    return schedule
                shared.arrived.wait()

    def _step_or_fail(self, schedule: Schedule) -> None:
        """Take a step; if it fails, all sentences of the batch fail, unless smaller batches may help."""
        try:
            self.step(schedule)
        except Exception as error:
            if not (isinstance(error, MemoryError) and self._back_off(schedule)):
                self.failures += 1
                self._deliver()
                logger.exception("a step failed with %d sentences", len(self.batch))
                self._fail_batch(schedule)
                self.shared.on_fault("step", 1)
        except BaseException:
            self._fail_batch(schedule)
            raise
        self._give_up_if_broken(self.failures, "steps")
        self._give_up_if_broken(self.batch.reranker.failures, "runs of the scorer")

    def _back_off(self, schedule: Schedule) -> bool:
        """Translate the batch's sentences anew in smaller batches, as memory does not suffice for this one.

        Returns:
            Whether there was more than one sentence.
        """
        shared = self.shared
        with shared.lock:
            config = shared.scheduler.back_off(self.index)
        if config is None:
            return False
        self._deliver()
        self.batch = self.new_batch()
        fail(schedule.removed, StepFailedError)
        message = (
            "a step needs more memory than there is; from now on, a batch has at most %d sentences"
        )
        logger.warning(message, config.max_num_seqs, exc_info=True)
        shared.on_fault("memory", 1)
        return True

    def _give_up_if_broken(self, count: int, kind: str) -> None:
        """After several failures, fail the engine, unless it still translates the canary.

        The sentences themselves may be the cause, and no input may stop the engine. Others that succeed in
        between prove nothing: a graph may fail with all but short ones.
        """
        if count < self.shared.config.max_failures:
            return
        if self._still_works():
            logger.warning(
                "%d %s failed, but the engine works: their sentences were at fault", count, kind
            )
            self.failures = 0
        else:
            self.shared.give_up(f"{count} {kind} failed, and a known sentence fails, too")

    def _still_works(self) -> bool:
        """Check whether the canary can still be translated, in its own batch, and scored."""
        canary = self.shared.canary
        if canary is None:
            return False
        try:
            for is_alone in (False, True):
                batch, sequence = self.new_batch(), DecodingSequence(*canary, arrived=0.0)
                if batch.admit([sequence]):
                    return False
                while batch:
                    batch.decode(self.shared.config.steps_per_run, 1, is_alone)
            if batch.reranker.failures:  # otherwise, there may be no scorer
                batch.reranker.check(batch.runner, sequence)
        except Exception:
            logger.exception("the canary, a sentence that was translated before, fails")
            return False
        return True

    def step(self, schedule: Schedule) -> None:
        """Retire, admit, deliver, then decode a few steps."""
        shared, started = self.shared, time.perf_counter()
        now = shared.clock()
        leaving = self.batch.retire(lambda sequence: sequence.has_left(now))
        try:
            self._release(leaving)
        finally:
            for sequence in (*leaving, *schedule.removed):
                fail([sequence], partial(_reason_to_leave, sequence, now))
        before_encode = time.perf_counter()
        self._admit(schedule)
        encode_seconds = time.perf_counter() - before_encode
        rows = len(self.batch)
        if not rows:
            self._deliver()
            return
        others_wait = shared.scheduler.num_waiting > 0
        is_alone = rows == 1 == shared.scheduler.num_running and not others_wait
        steps, stop_after = step_budget(
            shared.config, rows, self.step_seconds, others_wait=others_wait, is_alone=is_alone
        )
        decoded = self.batch.decode(steps, stop_after, is_alone, self._deliver)
        self.step_seconds = max(decoded.run_seconds, 1e-6) / decoded.steps
        self._take(decoded)
        in_model = encode_seconds + decoded.run_seconds + decoded.rerank_seconds
        stats = StepStats(
            rows=rows,
            admitted=len(schedule.admitted),
            steps=decoded.steps,
            source_tokens=sum(len(sequence.source_ids) for sequence in schedule.admitted),
            target_tokens=sum(len(hypotheses[0].ids) for _, hypotheses in decoded.finished),
            queue_waits=tuple(now - sequence.arrived for sequence in schedule.admitted),
            encode_seconds=encode_seconds,
            decode_seconds=decoded.run_seconds,
            rerank_seconds=decoded.rerank_seconds,
            host_seconds=time.perf_counter() - started - in_model,
        )
        # before delivery, so that metrics read after an answer include it
        shared.on_step(stats)
        if not self.batch and not shared.scheduler.num_waiting:
            self._deliver()

    def _admit(self, schedule: Schedule) -> None:
        """Admit new sentences, and fail those for which the encoder returned invalid values.

        Raises:
            ValueError: the batch is empty, because this concerns all of them.
        """
        refused = self.batch.admit(schedule.admitted)
        if refused and not self.batch:
            raise ValueError("the encoder gave invalid values for every sentence")
        if refused:
            self._note_invalid(refused)
            self._fail(refused)

    def _take(self, decoded: Decoded) -> None:
        """Process the result of a run: finished sentences and failed ones."""
        self.undelivered = decoded.finished
        self._release(sequence for sequence, _ in decoded.finished)
        if decoded.finished and self.shared.canary is None:
            sequence, _ = decoded.finished[0]
            self.shared.canary = sequence.source_ids, sequence.options
        if decoded.unscored:
            self.shared.on_fault("sentence", len(decoded.unscored))
            self._fail(decoded.unscored)
        if decoded.failed:
            self._fail_rows(decoded.failed)

    def _fail_rows(self, sequences: list[DecodingSequence]) -> None:
        """Fail sentences, and restart the others in a new batch, free of invalid values."""
        self._note_invalid(sequences)
        self._fail(sequences)
        others, self.batch = self.batch.sequences, self.new_batch()
        self._fail(self.batch.admit(others))

    def _note_invalid(self, sequences: list[DecodingSequence]) -> None:
        self.failures += 1
        logger.error("%d sentences failed: invalid values (NaN, unknown ids)", len(sequences))
        self.shared.on_fault("sentence", len(sequences))

    def _deliver(self) -> None:
        """Deliver the results of the last step."""
        resolve(self.undelivered)
        self.undelivered = []
        if not self.shared.accepting:
            with self.shared.lock:
                self.shared.changed.notify_all()

    def _release(self, sequences: Iterable[DecodingSequence]) -> None:
        """Report sentences that have left the batch to the scheduler, and wake `Engine.drain`."""
        shared = self.shared
        with shared.lock:
            for sequence in sequences:
                shared.scheduler.release(self.index, sequence)
                shared.note_done(sequence)
            shared.changed.notify_all()

    def _fail_batch(self, schedule: Schedule) -> None:
        """Fail all sentences of the batch, and start a new one."""
        self.batch = self.new_batch()
        with self.shared.lock:
            running = list(self.shared.scheduler.running[self.index])
        fail(schedule.removed, StepFailedError)
        self._fail(running)

    def _fail(self, sequences: list[DecodingSequence]) -> None:
        """Release sentences and fail their futures."""
        try:
            self._release(sequences)
        finally:
            fail(sequences, StepFailedError)


def _reason_to_leave(sequence: DecodingSequence, now: float) -> AttendantError:
    if sequence.deadline is None:
        return CancelledError("the request was cancelled by its sender")
    waited = now - sequence.arrived
    allowed = max(0.0, sequence.deadline - sequence.arrived)
    return DeadlineExceededError(f"not done after {waited:.3f} s; the deadline was {allowed:.3f} s")

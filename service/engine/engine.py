"""The engine: accepts sentences, translates them in its workers, and delivers hypotheses.

Each worker is a thread with its own batch and runner; all share one queue. However an engine ends, no future
is left pending.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

from service.engine.batch import Batch
from service.engine.config import EngineConfig
from service.engine.model_runner import ModelRunner
from service.engine.rerank import Reranker
from service.engine.scheduler import is_long
from service.engine.shared import OnFault, Shared, resolve
from service.engine.stalls import StallDetector, WatchedRunner
from service.engine.turns import Turns
from service.engine.types import DecodingOptions, DecodingSequence, SpecialIds, StepStats
from service.engine.worker import Worker
from service.errors import CancelledError, EngineDeadError, NotReadyError, QueueFullError

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
"""Time limit for the current run when an engine is closed."""
GIVEN_UP_SECONDS = 1.0
"""The same for an engine that has failed, as a run that hangs has had enough time."""


class Engine:
    """Beam search for many sentences at once. All methods may be called from any thread."""

    def __init__(
        self,
        runners: Sequence[ModelRunner],
        special: SpecialIds,
        config: EngineConfig,
        on_step: Callable[[StepStats], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        single_sequence_runner: ModelRunner | None = None,
        on_fault: OnFault = lambda *_: None,
    ) -> None:
        """Build an engine; `start` starts it.

        Args:
            runners: at most one per worker; if there are fewer, workers share them.
            special: ids of special tokens.
            config: the limits.
            on_step: called after each step, from any thread.
            clock: seconds; deadlines refer to it.
            single_sequence_runner: runs the same graphs on several threads, for a sentence that is alone.
            on_fault: called with the kind and number of failures, from any thread.
        """
        self.config, self.clock, self.on_fault = config, clock, on_fault
        self._shared = Shared(config, clock, on_step, on_fault)
        self.watch: StallDetector = self._shared.watch
        """Other users of the graphs register their runs here, so that `check` notices if they hang."""
        watched = [WatchedRunner(runner, self.watch) for runner in runners]
        single = single_sequence_runner and WatchedRunner(single_sequence_runner, self.watch)
        self._reranker = Reranker(special, config.num_workers, on_fault)
        batch_arguments = special, self._reranker, single, config.keys_multiple
        new_batches = cycle(partial(Batch, runner, *batch_arguments) for runner in watched)
        self._workers = [
            Worker(self._shared, index, next(new_batches)) for index in range(config.num_workers)
        ]
        self._threads = [
            threading.Thread(target=worker.run, name=f"engine-{worker.index}", daemon=True)
            for worker in self._workers
        ]

    def start(self) -> None:
        """Start the workers."""
        self._shared.accepting = True
        for thread in self._threads:
            thread.start()

    def share(self, turns: Turns) -> None:
        """Limit the concurrent steps of all engines that share `turns`, from the next step on."""
        self._shared.turns = turns

    @property
    def is_alive(self) -> bool:
        """Whether the engine is started, not closed and not failed."""
        return self.failure is None and all(thread.is_alive() for thread in self._threads)

    @property
    def failure(self) -> str | None:
        """Why the engine has failed, for the operator; None if it has not."""
        return self._shared.failure

    def check(self) -> bool:
        """Check whether the engine works; it fails if a run has taken longer than `stall_seconds`.

        To be called about once a second: the time of a run is measured between calls.
        """
        stall = self.watch.failure(self.config.stall_seconds)
        if stall and self.failure is None:
            self._shared.give_up(stall)
            for worker in self._workers:  # a worker that hangs cannot deliver its earlier results
                resolve(worker.undelivered)
            self.on_fault("stall", 1)
        return self.is_alive

    @property
    def num_waiting(self) -> int:
        """Number of waiting sentences."""
        return self._shared.scheduler.num_waiting

    @property
    def num_running(self) -> int:
        """Number of sentences in batches."""
        return self._shared.scheduler.num_running

    @property
    def expected_wait(self) -> float | None:
        """Estimated seconds until all sentences that wait now have joined a batch; None if unknown."""
        with self._shared.lock:
            return self._expected_wait(self.clock())

    @property
    def shortest_wait(self) -> float | None:
        """Estimated seconds for the shortest request, with a margin; None if unknown or if none waits."""
        shared = self._shared
        if not shared.scheduler.num_waiting:
            return None
        with shared.lock:
            seconds = self._seconds_to_finish([], self.clock())
            return shared.margin.added_to(seconds) if seconds else None

    def submit(
        self,
        items: Sequence[tuple[Sequence[int], DecodingOptions]],
        deadline: float | None = None,
        seconds_after: float = 0.0,
        is_further: bool = False,
    ) -> list[DecodingSequence]:
        """Admit all sentences or none. The result of each `future` is its hypotheses, best first.

        Args:
            items: source ids (tag ... EOS) and options of each sentence.
            deadline: in seconds by `clock`; unfinished sentences then fail with DeadlineExceededError.
            seconds_after: estimated duration of work after the search that must also meet the deadline.
            is_further: whether this is a further search of an admitted request: no limit of the queue and no
                estimate refuses it, and it takes no room from new requests.

        Raises:
            EngineDeadError, NotReadyError, QueueFullError: no sentence was admitted.
        """
        now = self.clock()
        sequences = [DecodingSequence(tuple(ids), options, now, deadline) for ids, options in items]
        with self._shared.lock:
            if self.failure is not None:
                raise EngineDeadError
            if not self._shared.accepting:
                raise NotReadyError("the service is not accepting work")
            if not is_further:
                self._check_room(sequences, now)
            if deadline is not None and not is_further:
                # an empty list, if all sentences are cached, does not wait
                estimated = self._seconds_to_finish(sequences, now) if sequences else 0.0
                self._check_time(estimated, now, deadline, seconds_after)
                for sequence in sequences:
                    sequence.estimated = estimated or None
            self._shared.scheduler.add(sequences, is_further)
            self._shared.arrived.notify(len(sequences))
        return sequences

    def check_deadline(self, deadline: float) -> None:
        """Check, before a request's text is read, whether even the shortest request could meet a deadline.

        Raises:
            QueueFullError: it could not; `retry_after` is the expected wait.
        """
        if not self._shared.scheduler.num_waiting:
            return
        with self._shared.lock:
            now = self.clock()
            self._check_time(self._seconds_to_finish([], now), now, deadline)

    def _check_room(self, sequences: list[DecodingSequence], now: float) -> None:
        """Check the limits of the queue, in which further searches of admitted requests do not count.

        Raises:
            QueueFullError: a limit would be exceeded; `retry_after` is the expected wait.
        """
        scheduler, config = self._shared.scheduler, self.config
        waiting, added, limit = scheduler.num_new, len(sequences), config.max_waiting
        unit = "sentences"
        if waiting + added <= limit:
            waiting, limit = scheduler.new_tokens, config.max_waiting_tokens
            added, unit = sum([sequence.tokens for sequence in sequences]), "tokens"
            if waiting + added <= limit or not waiting:
                return
        raise QueueFullError(
            f"{waiting} {unit} wait and {added} more would exceed the limit of {limit}",
            self._expected_wait(now),
        )

    def _check_time(
        self, estimated: float, now: float, deadline: float, seconds_after: float = 0.0
    ) -> None:
        """Check whether an estimated time, with a margin, meets a deadline.

        Raises:
            QueueFullError: it does not; `retry_after` is the expected wait.
        """
        wait = self._shared.margin.added_to(estimated + seconds_after)
        if wait and now + wait > deadline:
            raise QueueFullError(
                f"it may take {wait:.1f} s, and the deadline is {deadline - now:.1f} s from now",
                max(self._expected_wait(now) or 0.0, seconds_after),
            )

    def _seconds_to_finish(self, sequences: list[DecodingSequence], now: float) -> float:
        """Estimate the duration of a new request; 0 if no other waits, as speeds of the past may not hold.

        It is the time until the request's last sentence joins a batch, plus the time of its longest sentence
        there. Short sentences count as average ones: a request that is refused for less than that has been
        prepared in vain.
        """
        scheduler, throughput = self._shared.scheduler, self._shared.throughput
        if not scheduler.num_waiting:
            return 0.0
        costs = [sequence.cost for sequence in sequences]
        total = sum(costs)
        # the last sentence's own work is part of its time in the batch
        work = scheduler.cost_before(total) + total - min(costs, default=0)
        seconds = throughput.seconds_for(work, now)
        if seconds is None:
            return 0.0
        longest = max([one.tokens for one in sequences if is_long(one)], default=0)
        return seconds + max(
            throughput.seconds_in_batch(longest), throughput.usual_seconds_in_batch
        )

    def _expected_wait(self, now: float) -> float | None:
        """Estimate the time until all waiting sentences have joined a batch or missed their deadline."""
        scheduler = self._shared.scheduler
        if not scheduler.num_waiting:
            return 0.0
        seconds = self._shared.throughput.seconds_for(scheduler.waiting_cost, now)
        return None if seconds is None else min(seconds, max(0.0, scheduler.last_deadline - now))

    def abort(self, sequences: Sequence[DecodingSequence]) -> None:
        """Cancel sentences; their rows are freed at the next step."""
        with self._shared.lock:
            for sequence in sequences:
                sequence.future.cancel()
            self._shared.scheduler.abort(sequences)
            self._shared.changed.notify_all()

    def drain(self, timeout: float) -> bool:
        """Refuse new work and wait for the rest; return whether it was done within `timeout` seconds."""
        shared = self._shared
        with shared.lock:
            shared.accepting = False
            return shared.changed.wait_for(
                lambda: self._is_done or shared.failure is not None, timeout
            )

    @property
    def _is_done(self) -> bool:
        """Whether no sentence waits, runs or has an undelivered result."""
        return self._shared.scheduler.is_idle and not any(
            worker.undelivered for worker in self._workers
        )

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Stop; unfinished sentences fail with CancelledError.

        Returns:
            Whether every thread ended within `timeout` seconds. A thread that hangs keeps the interpreter
            from exiting.
        """
        if self.failure is not None:
            timeout = min(timeout, GIVEN_UP_SECONDS)
        shared, end = self._shared, time.monotonic() + timeout
        with shared.lock:
            shared.accepting, shared.closing = False, True
            shared.arrived.notify_all()
            shared.changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
        self._reranker.close()
        for worker in self._workers:
            resolve(worker.undelivered)
        shared.fail_everybody(partial(CancelledError, "the engine was closed"))
        idle = self.watch.wait_until_idle(max(0.0, end - time.monotonic()))
        return idle and self.has_ended()

    def has_ended(self) -> bool:
        """Return whether none of its threads runs."""
        return not any(thread.is_alive() for thread in self._threads)

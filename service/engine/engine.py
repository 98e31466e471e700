"""The engine: takes sentences in, has its workers translate them, delivers hypotheses.

Each worker is a thread with a batch and a runner of its own; all share one line of waiting sentences. However
an engine ends, no future is left pending.
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
"""In which the run that is under way when an engine is closed should end."""
GIVEN_UP_SECONDS = 1.0
"""The same where the engine has given up: what hangs has had its time."""


class Engine:
    """Beam search for many sentences at once; every method may be called from any thread."""

    def __init__(
        self,
        runners: Sequence[ModelRunner],
        special: SpecialIds,
        config: EngineConfig,
        on_step: Callable[[StepStats], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        single_sequence_runner: ModelRunner | None = None,
        on_fault: OnFault = lambda *_: None,
        turns: Turns | None = None,
    ) -> None:
        """Build an engine that is not running yet; `on_step` and `on_fault` are called by any thread.

        There are as many `runners` as workers, or fewer, which workers share; `single_sequence_runner` has
        the same graphs with several threads an operator, for a sentence that is alone. Engines
        that have the same `turns` share cores: so many of their steps run at once.
        """
        self.config, self.clock, self.on_fault = config, clock, on_fault
        turns = turns or Turns(config.num_workers)
        self._shared = Shared(config, clock, on_step, on_fault, turns)
        self.watch: StallDetector = self._shared.watch
        """Whoever runs a graph beside the engine tells it, so that `check` sees it hang."""
        watched = [WatchedRunner(runner, self.watch) for runner in runners]
        single = single_sequence_runner and WatchedRunner(single_sequence_runner, self.watch)
        self._reranker = Reranker(special, config.num_workers, on_fault)
        parts = special, self._reranker, single, config.max_padding
        new_batches = cycle(partial(Batch, runner, *parts) for runner in watched)
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

    @property
    def is_alive(self) -> bool:
        """Whether the engine works: started, not closed, not given up."""
        return self.failure is None and all(thread.is_alive() for thread in self._threads)

    @property
    def failure(self) -> str | None:
        """Why it has given up, for the operator; None while it has not."""
        return self._shared.failure

    def check(self) -> bool:
        """Whether the engine works; it gives up where a run has not got on for `stall_seconds`.

        To be called about once a second: time in which nobody looks does not count.
        """
        what, seconds = self.watch.longest()
        if seconds >= self.config.stall_seconds and self.failure is None:
            self._shared.give_up(f"{what} has not ended for {seconds:.0f} s")
            for worker in self._workers:  # one that hangs does not deliver what it had found before
                resolve(worker.found)
            self.on_fault("stall", 1)
        return self.is_alive

    @property
    def num_waiting(self) -> int:
        """Sentences that wait for a place in a batch."""
        return self._shared.scheduler.num_waiting

    @property
    def num_running(self) -> int:
        """Sentences in a batch."""
        return self._shared.scheduler.num_running

    @property
    def expected_wait(self) -> float | None:
        """Seconds until nothing that waits now still does; None while that cannot be told."""
        with self._shared.lock:
            return self._expected_wait(self.clock())

    @property
    def shortest_wait(self) -> float | None:
        """Seconds that the shortest request may take, with a margin; None while that cannot be told."""
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
    ) -> list[DecodingSequence]:
        """Admit all sentences or none; each one's `future` gives its hypotheses, best first.

        Args:
            items: source ids (tag ... EOS) and options of each sentence.
            deadline: by `clock`, in seconds; what is not done then fails with DeadlineExceededError.
            seconds_after: what work behind the search should take, which must be done by then, too.

        Raises:
            EngineDeadError, NotReadyError, QueueFullError: nothing was admitted.
        """
        now = self.clock()
        sequences = [DecodingSequence(tuple(ids), options, now, deadline) for ids, options in items]
        with self._shared.lock:
            if self.failure is not None:
                raise EngineDeadError
            if not self._shared.accepting:
                raise NotReadyError("the service is not accepting work")
            self._check_room(sequences, now)
            if deadline is not None:
                # those that are none, as all are known, wait for nobody
                estimated = self._seconds_to_finish(sequences, now) if sequences else 0.0
                self._check_time(estimated, now, deadline, seconds_after)
                if self._shared.scheduler.num_waiting and estimated:
                    for sequence in sequences:
                        sequence.estimated = estimated
            self._shared.scheduler.add(sequences)
            self._shared.arrived.notify(len(sequences))
        return sequences

    def check_deadline(self, deadline: float) -> None:
        """Refuse a request that would be too late if it were the shortest, before its text is looked at.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        if not self._shared.scheduler.num_waiting:  # it waits for nobody
            return
        with self._shared.lock:
            now = self.clock()
            self._check_time(self._seconds_to_finish([], now), now, deadline)

    def _check_room(self, sequences: list[DecodingSequence], now: float) -> None:
        """Refuse what is more than may wait.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        scheduler, config = self._shared.scheduler, self.config
        waiting, more, limit = scheduler.num_waiting, len(sequences), config.max_waiting
        what = "sentences"
        if waiting + more <= limit:
            waiting, limit = scheduler.waiting_tokens, config.max_waiting_tokens
            more, what = sum([sequence.tokens for sequence in sequences]), "tokens"
            if waiting + more <= limit or not waiting:
                return
        raise QueueFullError(
            f"{waiting} {what} wait and {more} more would exceed the limit of {limit}",
            self._expected_wait(now),
        )

    def _check_time(
        self, estimated: float, now: float, deadline: float, seconds_after: float = 0.0
    ) -> None:
        """Refuse what would wait for too long before it costs anything.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        # what an idle engine did before it may do faster by now
        is_sure = self._shared.scheduler.is_idle and not seconds_after
        wait = estimated + seconds_after
        wait = wait if is_sure else self._shared.margin.added_to(wait)
        if wait and now + wait > deadline:
            raise QueueFullError(
                f"it may take {wait:.1f} s, and the deadline is {deadline - now:.1f} s from now",
                max(self._expected_wait(now) or 0.0, seconds_after),
            )

    def _seconds_to_finish(self, sequences: list[DecodingSequence], now: float) -> float:
        """How long a new request should take; 0 while that cannot be told.

        Beside others: until the last place that it needs is free, and then the time of its longest sentence.
        A short one counts as the usual one: refused for its own, it would have been prepared for nothing.
        """
        scheduler, throughput = self._shared.scheduler, self._shared.throughput
        costs = [sequence.cost for sequence in sequences]
        total = sum(costs)
        work = scheduler.cost_before(total) + total
        long = [sequence.tokens for sequence in sequences if is_long(sequence)]
        in_batch = 0.0
        if long and not scheduler.is_idle:
            in_batch = throughput.seconds_in_batch(max(long))
        if scheduler.num_waiting:
            work -= min(costs, default=0)  # the last one's, which is done in its place
            in_batch = max(in_batch, throughput.usual_seconds_in_batch)
        seconds = throughput.seconds_for(work, now)
        return 0.0 if seconds is None else seconds + in_batch

    def _expected_wait(self, now: float) -> float | None:
        """Until nothing that waits now still does: it is given up at its deadline."""
        scheduler = self._shared.scheduler
        if not scheduler.num_waiting:
            return 0.0
        seconds = self._shared.throughput.seconds_for(scheduler.waiting_cost, now)
        return None if seconds is None else min(seconds, max(0.0, scheduler.last_deadline - now))

    def abort(self, sequences: Sequence[DecodingSequence]) -> None:
        """Give up sentences that nobody waits for; their rows are free at the next step."""
        with self._shared.lock:
            for sequence in sequences:
                sequence.future.cancel()
            self._shared.scheduler.abort(sequences)
            self._shared.changed.notify_all()

    def drain(self, timeout: float) -> bool:
        """Take nothing new and wait for what is there; whether all was done within `timeout` seconds."""
        shared = self._shared
        with shared.lock:
            shared.accepting = False
            return shared.changed.wait_for(
                lambda: self._is_done or shared.failure is not None, timeout
            )

    @property
    def _is_done(self) -> bool:
        """Whether nothing waits, runs or is still to be delivered."""
        return self._shared.scheduler.is_idle and not any(worker.found for worker in self._workers)

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Stop; whatever is not done fails with CancelledError.

        Returns:
            Whether every thread ended within `timeout` seconds. One that did not may never, and keeps the
            interpreter from ending by itself.
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
            resolve(worker.found)
        shared.fail_everybody(partial(CancelledError, "the engine was closed"))
        idle = self.watch.wait_until_idle(max(0.0, end - time.monotonic()))
        return idle and not any(thread.is_alive() for thread in self._threads)

"""The state that an engine and its workers share, and how an engine fails."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import suppress

from service.engine.config import EngineConfig
from service.engine.lifo_condition import LifoCondition
from service.engine.safety import SafetyMargin
from service.engine.scheduler import Scheduler, is_long
from service.engine.stalls import StallDetector
from service.engine.throughput import Throughput
from service.engine.turns import Turns
from service.engine.types import DecodingOptions, DecodingSequence, Hypothesis, StepStats
from service.errors import AttendantError, EngineDeadError

logger = logging.getLogger(__name__)

OnFault = Callable[[str, int], None]
"""Called with the kind of failure (step, sentence, memory, rerank, alignment, stall) and their number."""


class Shared:
    """Shared state. Access to the scheduler, the estimates and the flags requires `lock`."""

    def __init__(
        self,
        config: EngineConfig,
        clock: Callable[[], float],
        on_step: Callable[[StepStats], None],
        on_fault: OnFault,
    ) -> None:
        """Make the state of an engine that is not running yet."""
        self.config, self.clock = config, clock
        self.on_step, self.on_fault = on_step, on_fault
        self.turns = Turns(config.num_workers)
        """Limit the concurrent steps: one for each worker, unless engines share them."""
        self.scheduler = Scheduler(config)
        self.throughput = Throughput()
        self.margin = SafetyMargin()
        self.watch = StallDetector(clock)
        self.lock = threading.RLock()
        self.arrived = LifoCondition(self.lock)
        """Wakes idle workers. They need no other signal: a worker is idle only if no sentence waits."""
        self.changed = threading.Condition(self.lock)
        """Wakes `Engine.drain`."""
        self.accepting, self.closing = False, False
        self.failure: str | None = None
        """Why the engine has failed, or None."""
        self.canary: tuple[tuple[int, ...], DecodingOptions] | None = None
        """The first sentence that was translated: one of the bundle's, see `proof.check_translations`.

        It shows later if the engine still works.
        """

    def note_done(self, sequence: DecodingSequence) -> None:
        """Record the speed of a sentence that has left its batch. The caller holds the lock.

        The work done on an abandoned sentence is estimated from its time in the batch.
        """
        now = self.clock()
        seconds = now - sequence.joined
        usual = self.throughput.seconds_in_batch(sequence.tokens)
        is_given_up = sequence.has_left(now)
        fraction_done = min(1.0, seconds / usual) if is_given_up and usual else 1.0
        self.throughput.add(fraction_done * sequence.cost, now, self.scheduler.num_waiting > 0)
        if not is_given_up or seconds > usual:
            self.throughput.add_run(sequence.tokens, seconds, is_long=is_long(sequence))
        self.note_outcome(sequence, now)

    def note_outcome(self, sequence: DecodingSequence, now: float) -> None:
        """Record the error of a sentence's estimate, unless it was cancelled. The caller holds the lock."""
        if sequence.estimated is not None and not sequence.future.cancelled():
            self.margin.add(sequence.estimated, now - sequence.arrived)

    def give_up(self, reason: str, error: BaseException | None = None) -> None:
        """Fail permanently, with all pending sentences. Only the first call has an effect."""
        with self.lock:
            if self.failure is not None:
                return
            self.failure = reason
            self.arrived.notify_all()
            self.changed.notify_all()
        # first, as logging may raise an error
        self.fail_everybody(EngineDeadError)
        logger.critical("the engine gives up: %s", reason, exc_info=error)

    def fail_everybody(self, error: Callable[[], AttendantError]) -> None:
        """Fail all waiting and running sentences, each with its own error."""
        with self.lock:
            sequences = self.scheduler.clear()
        fail(sequences, error)


def resolve(finished: Sequence[tuple[DecodingSequence, list[Hypothesis]]]) -> None:
    """Deliver hypotheses; futures that already have an outcome keep it."""
    for sequence, hypotheses in finished:
        with suppress(InvalidStateError):  # cancelled, or failed while the engine closed
            sequence.future.set_result(hypotheses)


def fail(sequences: Iterable[DecodingSequence], error: Callable[[], AttendantError]) -> None:
    """Fail sentences, each with its own error; futures that already have an outcome keep it."""
    for sequence in sequences:
        with suppress(InvalidStateError):
            sequence.future.set_exception(error())

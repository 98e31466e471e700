"""What an engine and its workers have in common, and how it ends where it cannot go on."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import suppress

from service.engine.config import EngineConfig
from service.engine.lifo_condition import LifoCondition
from service.engine.safety import SafetyMargin
from service.engine.scheduler import Scheduler
from service.engine.stalls import StallDetector
from service.engine.throughput import Throughput
from service.engine.turns import Turns
from service.engine.types import DecodingOptions, DecodingSequence, Hypothesis, StepStats
from service.errors import AttendantError, EngineDeadError

logger = logging.getLogger(__name__)

OnFault = Callable[[str, int], None]
"""Told what failed (step, sentence, rerank, alignment, stall), and how many times."""


class Shared:
    """Who touches the line, the books or the flags holds the `lock`, which `arrived` and `changed` share."""

    def __init__(
        self,
        config: EngineConfig,
        clock: Callable[[], float],
        on_step: Callable[[StepStats], None],
        on_fault: OnFault,
        turns: Turns,
    ) -> None:
        """Of an engine that is not running yet."""
        self.config, self.clock = config, clock
        self.on_step, self.on_fault = on_step, on_fault
        self.turns = turns
        self.scheduler = Scheduler(config)
        self.throughput = Throughput()
        self.margin = SafetyMargin()
        self.watch = StallDetector(clock)
        self.lock = threading.RLock()
        self.arrived = LifoCondition(self.lock)
        """Idle workers; one that is idle leaves nobody waiting, so that nothing else need wake it."""
        self.changed = threading.Condition(self.lock)
        """Wakes whoever drains."""
        self.accepting, self.closing = False, False
        self.failure: str | None = None
        """Why the engine has given up."""
        self.canary: tuple[tuple[int, ...], DecodingOptions] | None = None
        """The first sentence that was translated: proves later whether it is the engine that fails."""

    def note_done(self, sequence: DecodingSequence) -> None:
        """Take in how fast a sentence was that has left its batch; its caller holds the lock.

        One that was given up counts for as much as it should have come to in its time.
        """
        now = self.clock()
        seconds = now - sequence.joined
        usual = self.throughput.seconds_in_batch(sequence.tokens)
        is_given_up = sequence.has_left(now)
        done = min(1.0, seconds / usual) if is_given_up and usual else 1.0
        self.throughput.add(done * sequence.cost, now, self.scheduler.num_waiting > 0)
        if not is_given_up or seconds > usual:
            self.throughput.add_run(sequence.tokens, seconds)
        self.note_outcome(sequence, now)

    def note_outcome(self, sequence: DecodingSequence, now: float) -> None:
        """Take in how far off its estimate was, unless its sender gave it up; its caller holds the lock."""
        if sequence.estimated is not None and not sequence.future.cancelled():
            self.margin.add(sequence.estimated, now - sequence.arrived)

    def give_up(self, reason: str, error: BaseException | None = None) -> None:
        """Refuse everything from now on, and leave nobody waiting; only the first reason counts."""
        with self.lock:
            if self.failure is not None:
                return
            self.failure = reason
            self.arrived.notify_all()
            self.changed.notify_all()
        # before anything that may fail itself: nobody is left waiting
        self.fail_everybody(EngineDeadError)
        logger.critical("the engine gives up: %s", reason, exc_info=error)

    def fail_everybody(self, error: Callable[[], AttendantError]) -> None:
        """Those that wait and those that run, each with an error of its own."""
        with self.lock:
            sequences = self.scheduler.clear()
        fail(sequences, error)


def resolve(found: Sequence[tuple[DecodingSequence, list[Hypothesis]]]) -> None:
    """Deliver what was found; whoever has an outcome keeps it."""
    for sequence, hypotheses in found:
        with suppress(InvalidStateError):  # cancelled, or failed while the engine closed
            sequence.future.set_result(hypotheses)


def fail(sequences: Iterable[DecodingSequence], error: Callable[[], AttendantError]) -> None:
    """Fail these, each with an error of its own; whoever has an outcome keeps it."""
    for sequence in sequences:
        with suppress(InvalidStateError):
            sequence.future.set_exception(error())

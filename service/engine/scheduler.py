"""Who waits and who joins which batch next; pure Python, with no tensor, no thread and no clock in it.

First come, first served: a sentence that does not fit yet is waited for, so that none starves.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from service.engine.config import EngineConfig
from service.engine.types import Sequence, SequenceStatus


@dataclass(frozen=True, slots=True)
class Schedule:
    """The decision for one step of one loop."""

    admitted: list[Sequence]
    left: list[Sequence]
    """Were waiting, and are no longer wanted: aborted, or past their deadline."""


class Scheduler:
    """The waiting line of an engine and the books of what its loops run. Its caller holds a lock."""

    def __init__(self, config: EngineConfig) -> None:
        """Start with nobody waiting and nothing running."""
        self.config = config
        self.waiting: deque[Sequence] = deque()
        self.running: list[set[Sequence]] = [set() for _ in range(config.num_loops)]

    @property
    def num_running(self) -> int:
        """Sentences in all batches."""
        return sum(map(len, self.running))

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not self.waiting and not self.num_running

    def has_room(self, count: int) -> bool:
        """Whether `count` more sentences may wait."""
        return len(self.waiting) + count <= self.config.max_waiting

    def add(self, sequences: Iterable[Sequence]) -> None:
        """Put sentences at the end of the line."""
        self.waiting.extend(sequences)

    def schedule(self, loop: int, now: float) -> Schedule:
        """Take from the line what joins the batch of `loop` now, and what has left the line."""
        admitted: list[Sequence] = []
        left = [sequence for sequence in self.waiting if sequence.has_left(now)]
        if left:
            self.waiting = deque(
                sequence for sequence in self.waiting if not sequence.has_left(now)
            )
        running = self.running[loop]
        longest = max((sequence.cost for sequence in running), default=0)
        share = self._fair_share()
        while self.waiting:
            sequence = self.waiting[0]
            rows = len(running) + 1
            longest = max(longest, sequence.cost)
            fits = rows <= share and rows * longest <= self.config.max_num_batched_tokens
            if not fits and running:  # alone, even the longest sentence runs
                break
            self.waiting.popleft()
            sequence.status = SequenceStatus.RUNNING
            running.add(sequence)
            admitted.append(sequence)
        for sequence in left:
            sequence.status = SequenceStatus.DONE
        return Schedule(admitted, left)

    def release(self, loop: int, sequence: Sequence) -> None:
        """Note that a sentence has left the batch of `loop`."""
        self.running[loop].discard(sequence)
        sequence.status = SequenceStatus.DONE

    def clear(self) -> list[Sequence]:
        """Forget everybody, waiting and running; returns them."""
        everybody = [*self.waiting, *(sequence for batch in self.running for sequence in batch)]
        self.waiting.clear()
        for batch in self.running:
            batch.clear()
        return everybody

    def _fair_share(self) -> int:
        """Rows that one loop may hold: an even share of all there is to do, so that no loop stays idle."""
        total = len(self.waiting) + self.num_running
        return min(self.config.max_num_seqs, -(-total // self.config.num_loops))

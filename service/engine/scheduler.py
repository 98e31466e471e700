"""Who waits and who joins which batch next; pure Python, with no tensor, no thread and no clock in it.

Requests take turns by the tokens they have been given so far (start-time fair queueing: Goyal, Vin and
Cheng, 1996), so that a short one does not wait for a long document; a paragraph is served in one turn.
Newcomers begin where the line stands. It moves on by what its requests get on average (as in weighted fair
queueing: Demers, Keshav and Shenker, 1989), or the second turn of any request would wait for as long as new
ones come. Whoever's turn it is and does not fit yet is waited for, so that none starves.

A batch is padded to its longest sentence, so those of similar length are put together: within a request the
longest go first, and of several requests whose turn is near, each loop takes those in a range of its own.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass

from service.engine.config import EngineConfig
from service.engine.types import Sequence, SequenceStatus

WINDOW = 8
"""Requests in line, times the loops, among which a loop looks for lengths of its own."""
TURN_TOKENS = 256
"""Of a request that is served in one turn; one with more takes a turn for every sentence."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The decision for one step of one loop."""

    admitted: list[Sequence]
    left: list[Sequence]
    """Were waiting, and are no longer wanted: aborted, or past their deadline."""


@dataclass(eq=False, slots=True)
class _Request:
    """The sentences of one `add` that still wait, the next one last."""

    turn: float
    """Where the line stood when its next sentence became due, in tokens."""
    sequences: list[Sequence]
    cost: int
    """Of all of them, in tokens."""
    in_one_turn: bool


class Scheduler:
    """The waiting line of an engine and the books of what its loops run. Its caller holds a lock."""

    def __init__(self, config: EngineConfig) -> None:
        """Start with nobody waiting and nothing running."""
        self.config = config
        self.num_waiting = 0
        self.waiting_tokens = 0
        self.running: list[set[Sequence]] = [set() for _ in range(config.num_loops)]
        self._line: list[tuple[float, int, _Request]] = []  # sorted by turn, then by arrival
        self._long: set[_Request] = set()  # those in line that are not served in one turn
        self._tokens_in_one_turn = 0  # of all others in line
        self._next_deadline = math.inf
        self._arrivals = itertools.count()
        self._turn = 0.0

    @property
    def num_running(self) -> int:
        """Sentences in all batches."""
        return sum(map(len, self.running))

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not self.num_waiting and not self.num_running

    def tokens_before(self, tokens: int) -> int:
        """How many tokens have their turn before the last of a new request of so many."""
        return self._tokens_in_one_turn + sum(min(long.cost, tokens) for long in self._long)

    def add(self, sequences: Items[Sequence]) -> None:
        """Put a request's sentences in line."""
        if not sequences:
            return
        ordered = sorted(sequences, key=lambda sequence: -sequence.cost)[::-1]
        cost = sum(sequence.cost for sequence in sequences)
        request = _Request(self._turn, ordered, cost, cost <= TURN_TOKENS)
        bisect.insort(self._line, (request.turn, next(self._arrivals), request))
        if request.in_one_turn:
            self._tokens_in_one_turn += cost
        else:
            self._long.add(request)
        self._next_deadline = min(self._next_deadline, *map(_deadline, sequences))
        self.num_waiting += len(sequences)
        self.waiting_tokens += cost

    def schedule(self, loop: int, now: float) -> Schedule:
        """Take from the line what joins the batch of `loop` now, and what has left the line."""
        left = self._expire(now)
        admitted: list[Sequence] = []
        running = self.running[loop]
        largest = max((sequence.footprint for sequence in running), default=0)
        share = self._fair_share()
        while window := self._window(left):
            at = self._first_of_its_range(loop, window)
            _, arrival, request = self._line[at]
            sequence = request.sequences[-1]
            rows = len(running) + 1
            largest = max(largest, sequence.footprint)
            fits = rows <= share and rows * largest <= self.config.max_num_batched_tokens
            if not fits and running:  # alone, even the largest sentence runs
                break
            # an even share of those in line, and of one who might come now
            given = sequence.cost / (len(self._line) + 1)
            self._turn = max(self._turn + given, request.turn)
            self._pop(at)
            if request.sequences and not request.in_one_turn:
                request.turn += sequence.cost
                del self._line[at]
                bisect.insort(self._line, (request.turn, arrival, request))
            self.num_waiting -= 1
            self.waiting_tokens -= sequence.cost
            sequence.status = SequenceStatus.RUNNING
            running.add(sequence)
            admitted.append(sequence)
        return Schedule(admitted, left)

    def abort(self, sequences: Iterable[Sequence]) -> None:
        """Take those of `sequences` out of the line that still wait in it."""
        for sequence in sequences:
            if sequence.status is SequenceStatus.WAITING:
                self._leave(sequence, [])

    def release(self, loop: int, sequence: Sequence) -> None:
        """Note that a sentence has left the batch of `loop`."""
        self.running[loop].discard(sequence)
        sequence.status = SequenceStatus.DONE

    def clear(self) -> list[Sequence]:
        """Forget everybody, waiting and running; returns them."""
        everybody = [*self._waiting(), *(one for batch in self.running for one in batch)]
        self._line.clear()
        self._long.clear()
        self.num_waiting = self.waiting_tokens = self._tokens_in_one_turn = 0
        for batch in self.running:
            batch.clear()
        return everybody

    def _window(self, left: list[Sequence]) -> list[int]:
        """What the next sentences of the first requests in line cost; who has left it is taken out."""
        size = WINDOW * self.config.num_loops
        costs: list[int] = []
        while len(costs) < min(size, len(self._line)):
            at = len(costs)
            sequence = self._line[at][2].sequences[-1]
            if sequence.status is SequenceStatus.WAITING and not sequence.future.cancelled():
                costs.append(sequence.cost)
                continue
            self._pop(at)
            if sequence.status is SequenceStatus.WAITING:
                self._leave(sequence, left)
        return costs

    def _first_of_its_range(self, loop: int, costs: list[int]) -> int:
        """The first place in line whose cost is in the range of `loop`; the longest are the first loop's.

        The ranges hold equally many places, and each place is in one at least.
        """
        ranked, loops = sorted(costs), self.config.num_loops
        low = ranked[(loops - 1 - loop) * len(ranked) // loops]
        high = ranked[-(-(loops - loop) * len(ranked) // loops) - 1]
        return next(at for at, cost in enumerate(costs) if low <= cost <= high)

    def _pop(self, at: int) -> None:
        """Take the next out of the request at a place in line, and with the last one the request."""
        request = self._line[at][2]
        cost = request.sequences.pop().cost
        request.cost -= cost
        if request.in_one_turn:
            self._tokens_in_one_turn -= cost
        if not request.sequences:
            del self._line[at]
            self._long.discard(request)

    def _expire(self, now: float) -> list[Sequence]:
        """Who waits and is late; wherever such a one stands in its request, it is passed over from now on."""
        left: list[Sequence] = []
        if now >= self._next_deadline:
            for sequence in self._waiting():
                if sequence.is_expired(now):
                    self._leave(sequence, left)
            self._next_deadline = min(map(_deadline, self._waiting()), default=math.inf)
        return left

    def _waiting(self) -> Iterator[Sequence]:
        for _, _, request in self._line:
            for sequence in request.sequences:
                if sequence.status is SequenceStatus.WAITING:
                    yield sequence

    def _leave(self, sequence: Sequence, left: list[Sequence]) -> None:
        sequence.status = SequenceStatus.DONE
        self.num_waiting -= 1
        self.waiting_tokens -= sequence.cost
        left.append(sequence)

    def _fair_share(self) -> int:
        """Rows that one loop may hold: an even share of all there is to do, so that no loop stays idle."""
        total = self.num_waiting + self.num_running
        return min(self.config.max_num_seqs, -(-total // self.config.num_loops))


def _deadline(sequence: Sequence) -> float:
    return math.inf if sequence.deadline is None else sequence.deadline

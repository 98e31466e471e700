"""Who waits and who joins which batch next; pure Python, with no tensor, no thread and no clock in it.

Requests take turns by the work they have been given so far (start-time fair queueing: Goyal, Vin and
Cheng, 1996), so that a short one does not wait for a long document; a paragraph is served in one turn.
Newcomers begin where the line stands. It moves on by what its requests get on average (as in weighted fair
queueing: Demers, Keshav and Shenker, 1989), or the second turn of any request would wait for as long as new
ones come. Whoever's turn it is and does not fit yet is waited for, so that none starves.

A batch that long sentences fill would take in no other for seconds: they leave it a row, which short ones may
take before their turn.

A batch is padded to its longest sentence, so those of similar length are put together: within a request the
longest go first, and of several requests whose turn is near, each worker takes those in a range of its own.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.engine.config import EngineConfig
from service.engine.types import DecodingSequence, SequenceStatus

WINDOW = 8
"""Requests in line, times the workers, among which a worker looks for lengths of its own."""
TURN_TOKENS = 256
"""Of a request that is served in one turn; one with more takes a turn for every sentence."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The decision for one step of one worker."""

    admitted: list[DecodingSequence]
    left: list[DecodingSequence]
    """Were waiting, and are no longer wanted: aborted, or past their deadline."""


@dataclass(eq=False, slots=True)
class _Request:
    """The sentences of one `add` that still wait, the next one last."""

    turn: float
    """Where the line stood when its next sentence became due, in `DecodingSequence.cost`."""
    sequences: list[DecodingSequence]
    cost: int
    """Of all of them."""
    in_one_turn: bool


class _Room:
    """What a batch takes in beside what is in it."""

    def __init__(
        self, config: EngineConfig, max_rows: int, running: Iterable[DecodingSequence]
    ) -> None:
        self.config, self.max_rows = config, max_rows
        self.rows = self.num_long = self.largest = 0
        for sequence in running:
            self.take(sequence)

    @property
    def is_full(self) -> bool:
        """Whether not even the shortest sentence fits."""
        return 0 < self.rows >= self.max_rows

    def takes(self, sequence: DecodingSequence) -> bool:
        """Whether a sentence fits; alone, even the largest does."""
        if not self.rows:
            return True
        rows = self.rows + 1
        if rows > self.max_rows:
            return False
        if is_long(sequence):
            rows = max(rows, self.num_long + 2)  # one is left to a short one
        padded = rows * max(self.largest, sequence.footprint)
        return rows <= self.config.max_num_seqs and padded <= self.config.max_num_batched_tokens

    def take(self, sequence: DecodingSequence) -> None:
        """One more is in the batch."""
        self.rows += 1
        self.num_long += is_long(sequence)
        self.largest = max(self.largest, sequence.footprint)


class Scheduler:
    """The waiting line of an engine and the books of what its workers run. Its caller holds a lock."""

    def __init__(self, config: EngineConfig) -> None:
        """Start with nobody waiting and nothing running."""
        self.config = config
        self.num_waiting = 0
        self.waiting_tokens = self.waiting_cost = 0
        self.last_deadline = -math.inf
        """The latest of those that wait, or of those that waited with them."""
        self.running: list[set[DecodingSequence]] = [set() for _ in range(config.num_workers)]
        self._line: list[tuple[float, int, _Request]] = []  # sorted by turn, then by arrival
        self._long: set[_Request] = set()  # those in line that are not served in one turn
        self._cost_in_one_turn = 0  # of all others in line
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

    def cost_before(self, cost: int) -> int:
        """How much work has its turn before the last of a new request of so much."""
        return self._cost_in_one_turn + sum(min(long.cost, cost) for long in self._long)

    def add(self, sequences: Sequence[DecodingSequence]) -> None:
        """Put a request's sentences in line."""
        if not sequences:
            return
        ordered = sorted(sequences, key=lambda sequence: -sequence.cost)[::-1]
        cost = sum([sequence.cost for sequence in sequences])
        request = _Request(self._turn, ordered, cost, cost <= TURN_TOKENS)
        bisect.insort(self._line, (request.turn, next(self._arrivals), request))
        if request.in_one_turn:
            self._cost_in_one_turn += cost
        else:
            self._long.add(request)
        deadlines = [_deadline(sequence) for sequence in sequences]
        self._next_deadline = min(self._next_deadline, *deadlines)
        if not self.num_waiting:
            self.last_deadline = -math.inf
        self.last_deadline = max(self.last_deadline, *deadlines)
        self.num_waiting += len(sequences)
        self.waiting_tokens += sum([sequence.tokens for sequence in sequences])
        self.waiting_cost += cost

    def schedule(self, worker: int, now: float) -> Schedule:
        """Take from the line what joins the batch of `worker` now, and what has left the line."""
        left = self._expire(now)
        admitted: list[DecodingSequence] = []
        running = self.running[worker]
        room = _Room(self.config, self._fair_share(), running)
        window = self._window(left)
        while window and not room.is_full:
            at = self._first_of_its_range(worker, window)
            if not room.takes(self._next(at)):
                short = self._first_short(room, len(window))
                if short is None:
                    break
                at = short
            _, arrival, request = self._line[at]
            sequence = request.sequences[-1]
            room.take(sequence)
            # an even share of those in line, and of one who might come now
            given = sequence.cost / (len(self._line) + 1)
            self._turn = max(self._turn + given, request.turn)
            self._pop(at)
            if request.sequences and not request.in_one_turn:
                request.turn += sequence.cost
                del self._line[at]
                bisect.insort(self._line, (request.turn, arrival, request))
            self._count_out(sequence)
            sequence.status, sequence.joined = SequenceStatus.RUNNING, now
            running.add(sequence)
            admitted.append(sequence)
            if not room.is_full:
                window = self._window(left)
        return Schedule(admitted, left)

    def abort(self, sequences: Iterable[DecodingSequence]) -> None:
        """Take those of `sequences` out of the line that still wait in it."""
        for sequence in sequences:
            if sequence.status is SequenceStatus.WAITING:
                self._leave(sequence, [])

    def release(self, worker: int, sequence: DecodingSequence) -> None:
        """Note that a sentence has left the batch of `worker`."""
        self.running[worker].discard(sequence)
        sequence.status = SequenceStatus.DONE

    def clear(self) -> list[DecodingSequence]:
        """Forget everybody, waiting and running; returns them."""
        everybody = [*self._waiting(), *(one for batch in self.running for one in batch)]
        self._line.clear()
        self._long.clear()
        self.num_waiting = self.waiting_tokens = 0
        self.waiting_cost = self._cost_in_one_turn = 0
        for batch in self.running:
            batch.clear()
        return everybody

    def _window(self, left: list[DecodingSequence]) -> list[int]:
        """What the next sentences of the first requests in line cost; who has left it is taken out."""
        size, at = WINDOW * self.config.num_workers, 0
        waiting = SequenceStatus.WAITING  # members are looked up slowly
        costs: list[int] = []
        while at < size and at < len(self._line):
            sequence = self._line[at][2].sequences[-1]
            if sequence.status is waiting and not sequence.future.cancelled():
                costs.append(sequence.cost)
                at += 1
                continue
            self._pop(at)
            if sequence.status is waiting:
                self._leave(sequence, left)
        return costs

    def _next(self, at: int) -> DecodingSequence:
        """The next sentence of the request at a place in line."""
        return self._line[at][2].sequences[-1]

    def _first_short(self, room: _Room, places: int) -> int | None:
        """The first place whose sentence may take the row that long ones leave; None where there is none."""
        if not room.num_long:
            return None
        short = (at for at in range(places) if not is_long(self._next(at)))
        first = next(short, None)
        return first if first is not None and room.takes(self._next(first)) else None

    def _first_of_its_range(self, worker: int, costs: list[int]) -> int:
        """The first place in line whose cost is in the range of `worker`; the longest are the first worker's.

        The ranges hold equally many places, and each place is in one at least.
        """
        ranked, workers = sorted(costs), self.config.num_workers
        low = ranked[(workers - 1 - worker) * len(ranked) // workers]
        high = ranked[-(-(workers - worker) * len(ranked) // workers) - 1]
        return next(at for at, cost in enumerate(costs) if low <= cost <= high)

    def _pop(self, at: int) -> None:
        """Take the next out of the request at a place in line, and with the last one the request."""
        request = self._line[at][2]
        cost = request.sequences.pop().cost
        request.cost -= cost
        if request.in_one_turn:
            self._cost_in_one_turn -= cost
        if not request.sequences:
            del self._line[at]
            self._long.discard(request)

    def _expire(self, now: float) -> list[DecodingSequence]:
        """Who waits and is late; wherever such a one stands in its request, it is passed over from now on."""
        left: list[DecodingSequence] = []
        if now >= self._next_deadline:
            for sequence in self._waiting():
                if sequence.is_expired(now):
                    self._leave(sequence, left)
            self._next_deadline = min(map(_deadline, self._waiting()), default=math.inf)
        return left

    def _waiting(self) -> Iterator[DecodingSequence]:
        for _, _, request in self._line:
            for sequence in request.sequences:
                if sequence.status is SequenceStatus.WAITING:
                    yield sequence

    def _leave(self, sequence: DecodingSequence, left: list[DecodingSequence]) -> None:
        sequence.status = SequenceStatus.DONE
        self._count_out(sequence)
        left.append(sequence)

    def _count_out(self, sequence: DecodingSequence) -> None:
        """One fewer waits."""
        self.num_waiting -= 1
        self.waiting_tokens -= sequence.tokens
        self.waiting_cost -= sequence.cost

    def _fair_share(self) -> int:
        """Rows that one worker may hold: an even share of all there is to do, so that none stays idle."""
        total = self.num_waiting + self.num_running
        return min(self.config.max_num_seqs, -(-total // self.config.num_workers))


def is_long(sequence: DecodingSequence) -> bool:
    """Whether it is a turn by itself, and is in its batch for a second or more."""
    return sequence.cost > TURN_TOKENS


def _deadline(sequence: DecodingSequence) -> float:
    return math.inf if sequence.deadline is None else sequence.deadline

"""The queue: chooses which sentences join which batch. Pure Python, without tensors, threads or a clock.

Requests take turns by the work they have received so far (start-time fair queueing: Goyal, Vin and
Cheng, 1996), so that a short one does not wait for a long document; a paragraph is served in one turn.
New requests start at the queue's virtual time. It advances by the average work per request (as in weighted
fair queueing: Demers, Keshav and Shenker, 1989), otherwise the second turn of a request would wait as long as
new requests arrive. If the next sentence does not fit yet, the others wait, so that no request starves.

A batch full of long sentences would accept no other for seconds. So they leave one row free, which short
sentences may take before their turn.

A batch is padded to its longest sentence, so sentences of similar length are put together: within a request,
the longest go first, and among the next requests, each worker takes those in its own range of lengths.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from service.engine.config import EngineConfig
from service.engine.types import DecodingSequence

WINDOW = 8
"""Requests per worker, at the head of the queue, among which a worker looks for its range of lengths."""
TURN_COST = 256
"""Maximum `DecodingSequence.cost` of all sentences of a request that is served in one turn.

A larger request takes a turn for every sentence.
"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The decision for one step of one worker."""

    admitted: list[DecodingSequence]
    removed: list[DecodingSequence]
    """Waiting sentences whose deadline has passed."""


@dataclass(eq=False, slots=True)
class _Request:
    """The sentences of one `add` that still wait; the last one is next."""

    turn: float
    """The virtual time at which its next sentence is due, in units of `DecodingSequence.cost`."""
    arrival: int
    """Its number, by which requests with the same turn are sorted."""
    sequences: list[DecodingSequence]
    cost: int
    """The sum of these sentences' costs."""
    in_one_turn: bool
    is_further: bool
    """See `Engine.submit`."""


class _Room:
    """The room for more sentences in a batch."""

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
        """Check whether a sentence fits. In an empty batch, any does."""
        if not self.rows:
            return True
        rows = self.rows + 1
        if rows > self.max_rows:
            return False
        if is_long(sequence):
            rows = max(rows, self.num_long + 2)  # leaves a row for a short sentence
        padded = rows * max(self.largest, sequence.footprint)
        return rows <= self.config.max_num_seqs and padded <= self.config.max_num_batched_tokens

    def take(self, sequence: DecodingSequence) -> None:
        """Account for a sentence that joins the batch."""
        self.rows += 1
        self.num_long += is_long(sequence)
        self.largest = max(self.largest, sequence.footprint)


class Scheduler:
    """The queue of an engine, and the record of what its workers run. The caller holds a lock."""

    def __init__(self, config: EngineConfig) -> None:
        """Start empty."""
        self.config = config
        self.waiting_cost = 0
        self.num_new = self.new_tokens = 0
        """The queue's sentences and their tokens, without further searches of admitted requests."""
        self.last_deadline = -math.inf
        """The latest deadline in the queue since it was last empty."""
        self.running: list[set[DecodingSequence]] = [set() for _ in range(config.num_workers)]
        self._requests: dict[DecodingSequence, _Request] = {}  # of each waiting sentence
        self._queue: list[_Request] = []  # sorted by `_place`
        self._long: set[_Request] = set()  # requests in the queue that need several turns
        self._cost_in_one_turn = 0  # the total cost of all other requests
        self._next_deadline = math.inf
        self._arrivals = itertools.count()
        self._turn = 0.0

    @property
    def num_waiting(self) -> int:
        """Number of sentences in the queue."""
        return len(self._requests)

    @property
    def num_running(self) -> int:
        """Number of sentences in all batches."""
        return sum(map(len, self.running))

    @property
    def is_idle(self) -> bool:
        """Whether no sentence waits or runs."""
        return not self.num_waiting and not self.num_running

    def cost_before(self, cost: int) -> int:
        """Return the cost of the waiting work that precedes the last sentence of a new request."""
        return self._cost_in_one_turn + sum(min(long.cost, cost) for long in self._long)

    def add(self, sequences: Sequence[DecodingSequence], is_further: bool = False) -> None:
        """Enqueue the sentences of a request; see `Engine.submit`."""
        if not sequences:
            return
        ordered = sorted(sequences, key=lambda sequence: -sequence.cost)[::-1]
        cost = sum([sequence.cost for sequence in sequences])
        arrival, in_one_turn = next(self._arrivals), cost <= TURN_COST
        request = _Request(self._turn, arrival, ordered, cost, in_one_turn, is_further)
        bisect.insort(self._queue, request, key=_place)
        if in_one_turn:
            self._cost_in_one_turn += cost
        else:
            self._long.add(request)
        deadlines = [_deadline(sequence) for sequence in sequences]
        self._next_deadline = min(self._next_deadline, *deadlines)
        if not self.num_waiting:
            self.last_deadline = -math.inf
        self.last_deadline = max(self.last_deadline, *deadlines)
        self._requests.update(dict.fromkeys(sequences, request))
        if not is_further:
            self.num_new += len(sequences)
            self.new_tokens += sum([sequence.tokens for sequence in sequences])
        self.waiting_cost += cost

    def schedule(self, worker: int, now: float) -> Schedule:
        """Remove from the queue the sentences that join the batch of `worker`, and those that expired."""
        removed = self._expire(now)
        admitted: list[DecodingSequence] = []
        running = self.running[worker]
        room = _Room(self.config, self._fair_share(), running)
        window = self._window()
        while window and not room.is_full:
            position = self._first_of_its_range(worker, window)
            if not room.takes(self._next(position)):
                short = self._first_short(room, len(window))
                if short is None:
                    break
                position = short
            sequence = self._pop(position)
            room.take(sequence)
            sequence.joined = now
            running.add(sequence)
            admitted.append(sequence)
            if not room.is_full:
                window = self._window()
        return Schedule(admitted, removed)

    def abort(self, sequences: Iterable[DecodingSequence]) -> list[DecodingSequence]:
        """Remove sentences from the queue, unless they have joined a batch; return those removed."""
        removed = [sequence for sequence in sequences if sequence in self._requests]
        for request in {self._count_out(sequence) for sequence in removed}:
            request.sequences = [one for one in request.sequences if one in self._requests]
            if not request.sequences:
                self._drop(bisect.bisect_left(self._queue, _place(request), key=_place))
        return removed

    def release(self, worker: int, sequence: DecodingSequence) -> None:
        """Record that a sentence has left the batch of `worker`."""
        self.running[worker].discard(sequence)

    def back_off(self, worker: int) -> EngineConfig | None:
        """Put the sentences of the batch of `worker` back into the queue, and halve the limits of a batch.

        Returns:
            The new limits; None if the batch has only one sentence, which no limit can help.
        """
        running = self.running[worker]
        if len(running) < 2:
            return None
        sequences, largest = list(running), max(sequence.footprint for sequence in running)
        running.clear()
        self.config = replace(
            self.config,
            max_num_seqs=len(sequences) // 2,
            max_num_batched_tokens=min(
                self.config.max_num_batched_tokens, len(sequences) * largest // 2
            ),
        )
        self.add(sequences, is_further=True)
        return self.config

    def clear(self) -> list[DecodingSequence]:
        """Remove and return all waiting and running sentences."""
        sequences = [*self._requests, *(sequence for batch in self.running for sequence in batch)]
        self._requests.clear()
        self._queue.clear()
        self._long.clear()
        self.num_new = self.new_tokens = self.waiting_cost = self._cost_in_one_turn = 0
        for batch in self.running:
            batch.clear()
        return sequences

    def _window(self) -> list[int]:
        """Return the costs of the next sentences of the first requests."""
        first = self._queue[: WINDOW * self.config.num_workers]
        return [request.sequences[-1].cost for request in first]

    def _next(self, position: int) -> DecodingSequence:
        """Return the next sentence of the request at a position in the queue."""
        return self._queue[position].sequences[-1]

    def _first_short(self, room: _Room, num_requests: int) -> int | None:
        """Return the first position whose sentence may take the row that long ones leave free, or None."""
        if not room.num_long:
            return None
        for position in range(num_requests):
            sequence = self._next(position)
            if not is_long(sequence):
                return position if room.takes(sequence) else None
        return None

    def _first_of_its_range(self, worker: int, costs: list[int]) -> int:
        """Return the first position whose cost is in the range of `worker`; worker 0 has the longest.

        The ranges have equally many positions, and cover all of them.
        """
        ranked, workers = sorted(costs), self.config.num_workers
        low = ranked[(workers - 1 - worker) * len(ranked) // workers]
        high = ranked[-(-(workers - worker) * len(ranked) // workers) - 1]
        return next(position for position, cost in enumerate(costs) if low <= cost <= high)

    def _pop(self, position: int) -> DecodingSequence:
        """Remove and return the next sentence of the request at a position, which ends its turn."""
        request = self._queue[position]
        sequence = request.sequences.pop()
        # the share of each request in the queue, and of one that might arrive now
        share = sequence.cost / (len(self._queue) + 1)
        self._turn = max(self._turn + share, request.turn)
        self._count_out(sequence)
        if not request.sequences:
            self._drop(position)
        elif not request.in_one_turn:
            del self._queue[position]
            request.turn += sequence.cost
            bisect.insort(self._queue, request, key=_place)
        return sequence

    def _drop(self, position: int) -> None:
        """Remove a request without sentences."""
        self._long.discard(self._queue.pop(position))

    def _expire(self, now: float) -> list[DecodingSequence]:
        """Remove and return the waiting sentences whose deadline has passed."""
        if now < self._next_deadline:
            return []
        removed = self.abort([one for one in self._requests if one.is_expired(now)])
        self._next_deadline = min(map(_deadline, self._requests), default=math.inf)
        return removed

    def _count_out(self, sequence: DecodingSequence) -> _Request:
        """Subtract a sentence that leaves the queue from all totals, and return its request."""
        request = self._requests.pop(sequence)
        request.cost -= sequence.cost
        if request.in_one_turn:
            self._cost_in_one_turn -= sequence.cost
        if not request.is_further:
            self.num_new -= 1
            self.new_tokens -= sequence.tokens
        self.waiting_cost -= sequence.cost
        return request

    def _fair_share(self) -> int:
        """Return how many sentences one worker may have: an even share of all, so that none is idle."""
        total = self.num_waiting + self.num_running
        return min(self.config.max_num_seqs, -(-total // self.config.num_workers))


def is_long(sequence: DecodingSequence) -> bool:
    """Check whether a sentence is a turn by itself, which takes about a second or more."""
    return sequence.cost > TURN_COST


def _place(request: _Request) -> tuple[float, int]:
    """Return what the queue is sorted by."""
    return request.turn, request.arrival


def _deadline(sequence: DecodingSequence) -> float:
    return math.inf if sequence.deadline is None else sequence.deadline

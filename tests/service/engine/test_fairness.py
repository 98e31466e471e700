"""The bound on other requests' work that a request waits for, in a simulation of random requests."""

import random
from dataclasses import dataclass, field

import pytest

from service.engine.config import EngineConfig
from service.engine.scheduler import TURN_COST, Scheduler
from service.engine.types import DecodingOptions, DecodingSequence

ROWS, TOKENS_A_STEP, STEPS = 8, 4, 300


@dataclass(eq=False)
class Request:
    """A waiting request, and the work admitted since it arrived."""

    sequences: set[DecodingSequence]
    taken_in_before: int
    most_in_line: int
    own: int = field(default=0, init=False)

    @property
    def turn(self) -> int:
        """The largest amount of work that it receives at once."""
        costs = [one.cost for one in self.sequences]
        return sum(costs) if sum(costs) <= TURN_COST else max(costs)


class Traffic:
    """Clients of different kinds, each sending a request as soon as its last one is answered."""

    def __init__(self, seed: int, workers: int, clients: int) -> None:
        self.random, self.workers = random.Random(seed), workers
        self.scheduler = Scheduler(
            EngineConfig(
                num_workers=workers, max_num_seqs=ROWS, max_num_batched_tokens=ROWS * 10_000
            )
        )
        self.kinds = [
            self.random.choice(("word", "word", "text", "document")) for _ in range(clients)
        ]
        self.waiting: dict[DecodingSequence, tuple[int, Request]] = {}
        self.unanswered = [0] * clients
        self.running: list[tuple[int, DecodingSequence, int, int]] = []
        self.taken_in = self.largest_turn = 0
        self.excess: list[float] = []
        for client in range(clients):
            self.send(client)

    def send(self, client: int) -> None:
        counts, lengths = {
            "word": (range(1, 2), range(3, 20)),
            "text": (range(1, 5), range(10, 60)),
            "document": (range(5, 30), range(10, 150)),
        }[self.kinds[client]]
        sequences = [
            DecodingSequence(
                tuple(range(self.random.choice(lengths))),
                DecodingOptions(max_decoding_length=50, beam_size=1),
                arrived=0.0,
                deadline=None,
            )
            for _ in range(self.random.choice(counts))
        ]
        self.scheduler.add(sequences)
        request = Request(set(sequences), self.taken_in, 0)
        self.largest_turn = max(self.largest_turn, request.turn)
        self.unanswered[client] = len(sequences)
        self.waiting |= dict.fromkeys(sequences, (client, request))

    def step(self) -> None:
        """Let each worker admit what the scheduler gives it, and decode its batch."""
        in_line = len({id(request) for _, request in self.waiting.values()})
        for _, request in self.waiting.values():
            request.most_in_line = max(request.most_in_line, in_line)
        for worker in range(self.workers):
            for one in self.scheduler.schedule(worker, 0.0).admitted:
                client, request = self.waiting.pop(one)
                request.sequences.discard(one)
                if not request.sequences:
                    self.judge(request)
                request.own += one.cost
                self.taken_in += one.cost
                self.running.append((worker, one, client, len(one.source_ids)))
        still = []
        for worker, one, client, left in self.running:
            if left > TOKENS_A_STEP:
                still.append((worker, one, client, left - TOKENS_A_STEP))
                continue
            self.scheduler.release(worker, one)
            self.unanswered[client] -= 1
            if not self.unanswered[client]:
                self.send(client)
        self.running = still

    def judge(self, request: Request) -> None:
        """Return by how much the work admitted before its last sentence exceeds the bound."""
        others = self.taken_in - request.taken_in_before - request.own
        bound = (request.most_in_line + 1) * (request.own + self.largest_turn)
        bound += (self.workers - 1) * ROWS * self.largest_turn  # a batch of each other worker
        self.excess.append(others - bound)


@pytest.mark.parametrize("clients", [3, 12, 40])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_request_waits_for_a_bounded_amount_of_other_work(workers: int, clients: int) -> None:
    for seed in range(3):
        traffic = Traffic(seed, workers, clients)
        for _ in range(STEPS):
            traffic.step()
        assert len(traffic.excess) > clients
        assert max(traffic.excess) <= 0
        for _, request in traffic.waiting.values():  # none of these is forgotten
            traffic.judge(request)
        assert max(traffic.excess) <= 0

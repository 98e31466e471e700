"""Four times the load that an engine can handle, simulated: admitted requests meet their deadlines."""

import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.types import DecodingOptions, DecodingSequence
from service.errors import QueueFullError
from tests.fakes import SPECIAL, EchoRunner

OPTIONS = DecodingOptions(max_decoding_length=200)
DEADLINE, SECONDS, OVERLOAD = 5.0, 20.0, 4.0
CLIENTS, WARM_UP = 64, 500
STEPS_A_RUN = 4
REFUSING, SERVING = 0.0001, 0.002
"""Seconds of the engine's core that the event loop takes per request."""


class Core:
    """An engine's batch and the event loop, on one core of varying speed."""

    def __init__(self, seed: int, slowness: Callable[[float], float]) -> None:
        self.random, self.slowness, self.now = random.Random(seed), slowness, 0.0
        self.engine = Engine([EchoRunner()], SPECIAL, EngineConfig(), clock=lambda: self.now)
        self.shared = self.engine._shared
        self.shared.accepting = True
        self.steps_left: dict[DecodingSequence, int] = {}
        """All waiting and running sentences."""
        self.outcomes: Counter[str] = Counter()
        self.last_answer = 0.0

    def arrive(self) -> None:
        """Submit a request of one sentence."""
        self.now += REFUSING
        wait = self.engine.shortest_wait
        if wait is not None and wait > DEADLINE:
            self.outcomes["refused"] += 1
            return
        length = max(3, int(self.random.lognormvariate(2.5, 0.45)))
        deadline = self.now + DEADLINE
        self.now += SERVING
        try:
            [one] = self.engine.submit([(tuple(range(length)), OPTIONS)], deadline)
        except QueueFullError:
            self.outcomes["refused"] += 1
        else:
            self.steps_left[one] = max(2, round(length * self.random.gauss(1.0, 0.25)))

    def run(self) -> None:
        """Do what a worker does in one iteration: retire, admit and decode."""
        scheduler = self.shared.scheduler
        schedule = scheduler.schedule(0, self.now)
        self.leave(schedule.removed, "late")
        self.leave([one for one in scheduler.running[0] if one.has_left(self.now)], "late")
        running = scheduler.running[0]
        noise = max(0.3, self.random.gauss(1.0, 0.15)) * self.slowness(self.now)
        self.now += STEPS_A_RUN * (0.003 + 0.0006 * len(running)) * noise
        for one in running:
            self.steps_left[one] -= STEPS_A_RUN
        self.leave([one for one in running if self.steps_left[one] <= 0], "done")

    def leave(self, sequences: list[DecodingSequence], outcome: str) -> None:
        for one in sequences:
            if math.isnan(one.joined):
                self.shared.note_outcome(one, self.now)
            else:
                self.shared.scheduler.release(0, one)
                self.shared.note_done(one)
            del self.steps_left[one]
            self.outcomes[outcome] += 1
            self.last_answer = self.now

    def capacity(self) -> float:
        """Return the requests per second of clients that wait for their answers."""
        began = self.now
        while self.outcomes["done"] < WARM_UP:
            while len(self.steps_left) < CLIENTS:
                self.arrive()
            self.run()
        self.outcomes.clear()
        return WARM_UP / (self.now - began)

    def overload(self, rate: float) -> float:
        """Return the requests per second that are completed when they arrive at a given rate."""
        began = due = self.now
        while due < began + SECONDS or self.steps_left:
            while due <= self.now and due < began + SECONDS:
                self.arrive()
                due += self.random.expovariate(rate)
            if self.steps_left:
                self.run()
            else:
                self.now = max(self.now, due)
        return self.outcomes["done"] / (self.last_answer - began)


def steady(_: float) -> float:
    return 1.0


def swings(now: float) -> float:
    return 1 + 0.15 * math.sin(now)


def trembles(now: float) -> float:
    return 1 + 0.35 * random.Random(int(now / 0.8)).random()


@pytest.mark.parametrize("slowness", [steady, swings, trembles])
def test_overload_keeps_deadlines_and_uses_the_capacity(
    slowness: Callable[[float], float],
) -> None:
    done = late = 0
    for seed in range(2):
        core = Core(seed, slowness)
        capacity = core.capacity()
        goodput = core.overload(OVERLOAD * capacity)
        assert core.outcomes["refused"] > 2 * core.outcomes["done"]
        assert goodput >= 0.9 * capacity
        done += core.outcomes["done"]
        late += core.outcomes["late"]
    assert late <= 0.001 * (done + late)

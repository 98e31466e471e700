"""Replicas behind a balancer, simulated event by event: what a load does to waiting times.

A request goes to a replica with the fewest requests in flight (least-request balancing), any of these. A
replica works on up to `width` requests at once, each as fast as its throughput at that concurrency allows;
the others wait in the order of their arrival. With constant throughput and width 1 that is the M/G/1 queue,
with throughput that grows evenly up to `width` the M/G/c queue.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

Draw = Callable[[random.Random], float]
"""The work of a request, in seconds of a replica that has nothing else to do."""


@dataclass(frozen=True)
class Throughput:
    """How much work a replica does a second at each concurrency; 1 is that of one request alone."""

    points: Mapping[int, float]
    """Measured, by concurrency, from 1 on; between two of them, it grows evenly."""

    @property
    def width(self) -> int:
        """The highest measured concurrency: what a replica works on at once."""
        return max(self.points)

    def at(self, concurrency: int) -> float:
        """Seconds of lone work done in a second."""
        for (low, slow), (high, fast) in pairwise(sorted(self.points.items())):
            if low <= concurrency <= high:
                return slow + (fast - slow) * (concurrency - low) / (high - low)
        return self.points[self.width]


@dataclass(eq=False)
class _Replica:
    """Its clock counts the work that each request in service has been given."""

    number: int
    clock: float = 0.0
    updated: float = 0.0
    serving: list[tuple[float, int, float]] = field(default_factory=list)
    """A heap: when by `clock` it is done, its number, when it came."""
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    """When it came, its work."""
    version: int = 0

    @property
    def in_flight(self) -> int:
        return len(self.serving) + len(self.waiting)


def simulate(
    replicas: int, rate: float, requests: int, throughput: Throughput, draw: Draw, seed: int = 0
) -> list[float]:
    """Response times in seconds of so many requests, sorted, after a tenth as many that are not counted.

    Args:
        replicas: behind one balancer that knows all of them.
        rate: Poisson arrivals a second.
        requests: of which the times are returned.
        throughput: of each replica.
        draw: the work of each request.
        seed: the same gives the same.
    """
    rng, numbers = random.Random(seed), count()
    everyone = [_Replica(number) for number in range(replicas)]
    # by requests in flight, ties in random order; those that have changed since are passed over
    idle = [(0, rng.random(), one.number) for one in everyone]
    heapq.heapify(idle)
    ends: list[tuple[float, int, int, int]] = []  # when, a tie-breaker, the replica, its version
    ignored, found = requests // 10, list[float]()
    arrived, next_arrival = 0, rng.expovariate(rate)

    def changed(one: _Replica) -> None:
        heapq.heappush(idle, (one.in_flight, rng.random(), one.number))
        one.version += 1
        if one.serving:
            left = one.serving[0][0] - one.clock
            speed = throughput.at(len(one.serving)) / len(one.serving)
            heapq.heappush(
                ends, (one.updated + left / speed, next(numbers), one.number, one.version)
            )

    def catch_up(one: _Replica, now: float) -> None:
        if one.serving:
            speed = throughput.at(len(one.serving)) / len(one.serving)
            one.clock += (now - one.updated) * speed
        one.updated = now

    def serve(one: _Replica, came: float, work: float) -> None:
        heapq.heappush(one.serving, (one.clock + work, next(numbers), came))

    while len(found) < requests + ignored:
        if not ends or next_arrival <= ends[0][0]:
            now = next_arrival
            next_arrival = now + rng.expovariate(rate)
            arrived += 1
            one = _least(idle, everyone)
            catch_up(one, now)
            if len(one.serving) < throughput.width:
                serve(one, now, draw(rng))
            else:
                one.waiting.append((now, draw(rng)))
            changed(one)
            continue
        now, _, number, version = heapq.heappop(ends)
        one = everyone[number]
        if version != one.version:
            continue
        catch_up(one, now)
        _, _, came = heapq.heappop(one.serving)
        found.append(now - came)
        if one.waiting:
            serve(one, *one.waiting.popleft())
        changed(one)
    return sorted(found[ignored:])


def _least(idle: list[tuple[int, float, int]], everyone: Sequence[_Replica]) -> _Replica:
    """One with the fewest requests in flight."""
    while True:
        in_flight, _, number = heapq.heappop(idle)
        if everyone[number].in_flight == in_flight:
            return everyone[number]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Of sorted values."""
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


def breaking_load(
    replicas: int, throughput: Throughput, draw: Draw, mean_work: float, limit: float, requests: int
) -> float:
    """The highest share of the capacity, in steps of 2 %, with the 99th percentile within `limit` seconds.

    `mean_work` is that of `draw`, in seconds.
    """
    capacity = replicas * throughput.at(throughput.width) / mean_work
    low, high = 0, 50  # in steps; low holds, high does not
    while high - low > 1:
        middle = (low + high) // 2
        times = simulate(replicas, middle / 50 * capacity, requests, throughput, draw)
        low, high = (middle, high) if percentile(times, 99) <= limit else (low, middle)
    return low / 50

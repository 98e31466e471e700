"""Discrete-event simulation of replicas behind a load balancer: response times by load.

A request goes to a random one of the replicas with the fewest requests in flight (least-request balancing). A
replica serves up to `width` requests at once, at the rate that its throughput at this concurrency allows. The
others wait in order of arrival. With constant throughput and a width of 1, a replica is an M/G/1 queue; with
throughput proportional to concurrency, it is an M/G/c queue.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

Draw = Callable[[random.Random], float]
"""Draws the work of a request, in seconds on a replica without other load."""


@dataclass(frozen=True)
class Throughput:
    """The throughput of a replica by concurrency, relative to a single request."""

    points: Mapping[int, float]
    """Measurements by concurrency, from 1 on, with linear interpolation."""

    @property
    def width(self) -> int:
        """The highest measured concurrency, and so the maximum number of requests in service."""
        return max(self.points)

    def at(self, concurrency: int) -> float:
        """Return the work done per second, in seconds of a request without other load."""
        for (low, slow), (high, fast) in pairwise(sorted(self.points.items())):
            if low <= concurrency <= high:
                return slow + (fast - slow) * (concurrency - low) / (high - low)
        return self.points[self.width]


@dataclass(eq=False)
class _Replica:
    """A simulated replica. Its clock measures the work done for each request in service."""

    number: int
    clock: float = 0.0
    updated: float = 0.0
    serving: list[tuple[float, int, float]] = field(default_factory=list)
    """A heap of requests: end by `clock`, number, time of arrival."""
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    """Time of arrival and work of each request."""
    version: int = 0

    @property
    def in_flight(self) -> int:
        return len(self.serving) + len(self.waiting)


def simulate(
    replicas: int, rate: float, requests: int, throughput: Throughput, draw: Draw, seed: int = 0
) -> list[float]:
    """Simulate requests and return their response times in seconds, sorted.

    The first tenth in addition to `requests` is a warm-up that does not count.

    Args:
        replicas: number of replicas behind the balancer.
        rate: Poisson arrivals per second.
        requests: number of requests whose times are returned.
        throughput: the throughput of each replica.
        draw: draws the work of a request.
        seed: seed of all draws.
    """
    rng, numbers = random.Random(seed), count()
    all_replicas = [_Replica(number) for number in range(replicas)]
    # by requests in flight, with ties in random order; outdated entries are skipped
    idle = [(0, rng.random(), replica.number) for replica in all_replicas]
    heapq.heapify(idle)
    ends: list[tuple[float, int, int, int]] = []  # time, tie-breaker, replica, version
    ignored, times = requests // 10, list[float]()
    arrived, next_arrival = 0, rng.expovariate(rate)

    def changed(replica: _Replica) -> None:
        heapq.heappush(idle, (replica.in_flight, rng.random(), replica.number))
        replica.version += 1
        if replica.serving:
            work_left = replica.serving[0][0] - replica.clock
            speed = throughput.at(len(replica.serving)) / len(replica.serving)
            heapq.heappush(
                ends,
                (
                    replica.updated + work_left / speed,
                    next(numbers),
                    replica.number,
                    replica.version,
                ),
            )

    def catch_up(replica: _Replica, now: float) -> None:
        if replica.serving:
            speed = throughput.at(len(replica.serving)) / len(replica.serving)
            replica.clock += (now - replica.updated) * speed
        replica.updated = now

    def serve(replica: _Replica, arrival: float, work: float) -> None:
        heapq.heappush(replica.serving, (replica.clock + work, next(numbers), arrival))

    while len(times) < requests + ignored:
        if not ends or next_arrival <= ends[0][0]:
            now = next_arrival
            next_arrival = now + rng.expovariate(rate)
            arrived += 1
            replica = _least(idle, all_replicas)
            catch_up(replica, now)
            if len(replica.serving) < throughput.width:
                serve(replica, now, draw(rng))
            else:
                replica.waiting.append((now, draw(rng)))
            changed(replica)
            continue
        now, _, number, version = heapq.heappop(ends)
        replica = all_replicas[number]
        if version != replica.version:
            continue
        catch_up(replica, now)
        _, _, arrival = heapq.heappop(replica.serving)
        times.append(now - arrival)
        if replica.waiting:
            serve(replica, *replica.waiting.popleft())
        changed(replica)
    return sorted(times[ignored:])


def _least(idle: list[tuple[int, float, int]], everyone: Sequence[_Replica]) -> _Replica:
    """Return a replica with the fewest requests in flight."""
    while True:
        in_flight, _, number = heapq.heappop(idle)
        if everyone[number].in_flight == in_flight:
            return everyone[number]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of sorted values."""
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


def breaking_load(
    replicas: int, throughput: Throughput, draw: Draw, mean_work: float, limit: float, requests: int
) -> float:
    """Find the highest share of the capacity at which the 99th percentile is within `limit` seconds.

    The share is a multiple of 2 %. `mean_work` is the mean of `draw`, in seconds.
    """
    capacity = replicas * throughput.at(throughput.width) / mean_work
    low, high = 0, 50  # in steps; low is within the limit, high is not
    while high - low > 1:
        middle = (low + high) // 2
        times = simulate(replicas, middle / 50 * capacity, requests, throughput, draw)
        low, high = (middle, high) if percentile(times, 99) <= limit else (low, middle)
    return low / 50

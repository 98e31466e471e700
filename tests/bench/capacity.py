"""`python -m tests.bench.capacity`: measure response times by load, and how many replicas a load needs.

Measures one replica with the bundled model over HTTP on loopback, simulates up to 1,000 replicas behind a
least-request balancer, and writes `capacity.json` and the tables in docs/capacity.md. With `--check`,
compares two real replicas, with a core each, with the simulation of two.
"""

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from service.engine.cores import available_cores
from tests.bench.models import ROOT
from tests.bench.online import cycled, poisson
from tests.bench.over_http import UNLIMITED, Connection, alone, serving, steady_rate
from tests.bench.queueing import Throughput, breaking_load, percentile, simulate
from tests.bench.report import machine, table
from tests.bench.text import everyday_german
from tests.documents import renew

PORTS = (8795, 8796)
CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64)
LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
CHECKED_LOADS = (0.3, 0.5, 0.7, 0.8)
REPLICAS = (1, 2, 4, 10, 100, 1000)
WANTED = {"10/s": 10.0, "100/s": 100.0, "1,000/s": 1000.0, "a billion a day": 1e9 / 86_400}
"""Loads, in requests per second, for which the necessary replicas are computed."""
P99_LIMIT = 2.0
"""Limit of the 99th percentile, as a multiple of a single replica's at the lowest load."""
SIMULATED = 20_000
PAGE, MARK = ROOT / "docs" / "capacity.md", "capacity"
Row = dict[str, Any]


@dataclass
class Capacity:
    """Measurements of one replica and simulations of many."""

    machine: str
    cores: int
    alone_ms: list[float]
    """Response time of each text without other load."""
    throughput: dict[int, float]
    """Requests per second by concurrency."""
    loads: list[Row] = field(default_factory=list)
    simulated: list[Row] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The maximum throughput in requests per second."""
        return max(self.throughput.values())

    @property
    def mean_work(self) -> float:
        """The mean response time without other load, in seconds."""
        return statistics.mean(self.alone_ms) / 1e3

    @property
    def curve(self) -> Throughput:
        """The throughput for the simulation, in which more concurrency never reduces it."""
        best, points = 0.0, {}
        for concurrency, rate in sorted(self.throughput.items()):
            best = max(best, rate * self.mean_work)
            points[concurrency] = best
        return Throughput(points)

    def draw(self, rng: random.Random) -> float:
        """Draw the work of a request, in seconds."""
        return rng.choice(self.alone_ms) / 1e3

    def simulated_times(self, replicas: int, load: float) -> list[float]:
        """Simulate the response times of several replicas at a share of their capacity."""
        rate = load * replicas * self.curve.at(self.curve.width) / self.mean_work
        return simulate(replicas, rate, SIMULATED, self.curve, self.draw)


async def timed_loop(port: int, texts: Sequence[str], connections: int) -> float:
    """Return requests per second of connections that are never idle, while all of them are busy."""
    remaining, ends = iter(texts), list[float]()

    async def work() -> None:
        connection = Connection(port)
        for text in remaining:
            await connection.post(text)
            ends.append(time.perf_counter())

    await asyncio.gather(*(work() for _ in range(connections)))
    return steady_rate(ends, connections)


async def arriving(
    ports: Sequence[int], texts: Sequence[str], times: Sequence[float]
) -> list[float]:
    """Send every text at its time to a replica with the fewest requests in flight.

    Returns:
        Response times in seconds.
    """
    idle_connections: dict[int, list[Connection]] = {port: [] for port in ports}
    in_flight = dict.fromkeys(ports, 0)
    started = time.perf_counter()

    async def request(text: str, due: float) -> float:
        await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
        port = min(ports, key=lambda port: (in_flight[port], random.random()))
        connection = idle_connections[port].pop() if idle_connections[port] else Connection(port)
        in_flight[port] += 1
        try:
            await connection.post(text)
        finally:
            in_flight[port] -= 1
        idle_connections[port].append(connection)
        return time.perf_counter() - started - due

    return await asyncio.gather(
        *(request(*text_and_time) for text_and_time in zip(texts, times, strict=True))
    )


def measure_replica(port: int, cores: int, texts: Sequence[str], seconds: float) -> Capacity:
    """Measure one replica: one request at a time, then at rising concurrency."""
    asyncio.run(alone(port, texts[:50]))  # warm up
    lone = asyncio.run(alone(port, texts))
    capacity = Capacity(machine(), cores, [round(1e3 * latency, 3) for latency in lone], {})
    rate = 1 / capacity.mean_work
    for concurrency in CONCURRENCIES:
        num_requests = max(4 * concurrency, int(rate * seconds))
        rate = asyncio.run(timed_loop(port, cycled(texts, num_requests), concurrency))
        capacity.throughput[concurrency] = round(rate, 1)
    return capacity


def measure_loads(port: int, capacity: Capacity, texts: Sequence[str], seconds: float) -> None:
    """Measure response times under random arrivals at rising shares of the capacity."""
    for load in LOADS:
        times = poisson(load * capacity.rate, seconds)
        tokens_before = tokens_of(port)
        started = time.perf_counter()
        ordered = sorted(asyncio.run(arriving([port], cycled(texts, len(times)), times)))
        seconds_taken = time.perf_counter() - started
        capacity.loads.append(
            {
                "load": load,
                "requests/s": round(len(times) / seconds_taken, 1),
                "tokens/s": round((tokens_of(port) - tokens_before) / seconds_taken),
                **quantiles(ordered),
            }
        )


def simulate_many(capacity: Capacity) -> None:
    """Simulate what share of its capacity a fleet can use while its 99th percentile is within the limit."""
    limit = P99_LIMIT * percentile(capacity.simulated_times(1, LOADS[0]), 99)
    for replicas in REPLICAS:
        requests = max(SIMULATED, 50 * replicas)
        arguments = capacity.curve, capacity.draw, capacity.mean_work, limit, requests
        breaks = breaking_load(replicas, *arguments)
        latencies = quantiles(capacity.simulated_times(replicas, breaks))
        rate = round(breaks * replicas * capacity.rate)
        capacity.simulated.append(
            {"replicas": replicas, "load": f"{breaks:.0%}", "requests/s": rate, **latencies}
        )


def needed(capacity: Capacity) -> list[Row]:
    """Compute the replicas for each load.

    A fleet can use the share of its capacity that the largest simulated fleet of at most its size can use.
    """
    shares = {row["replicas"]: float(row["load"].rstrip("%")) / 100 for row in capacity.simulated}
    rows = []
    for name, rate in WANTED.items():
        options = []
        for size, share in shares.items():
            if share:
                replicas = max(size, math.ceil(rate / (share * capacity.rate)))
                options.append((replicas, share))
        replicas, share = min(options)
        rows.append(
            {
                "load": name,
                "requests/s": f"{rate:,.0f}",
                "usable share": f"{share:.0%}",
                "replicas": f"{replicas:,}",
                "cores": f"{replicas * capacity.cores:,}",
            }
        )
    return rows


def tokens_of(port: int) -> float:
    """Return the number of target tokens so far."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.split()[1]) for line in lines if line.startswith("attendant_target_tokens_")
    )


def quantiles(ordered: Sequence[float]) -> Row:
    """Return the median, 95th and 99th percentile of sorted seconds, in milliseconds."""
    return {
        f"p{percent}, ms": round(1e3 * percentile(ordered, percent), 1) for percent in (50, 95, 99)
    }


@contextmanager
def replicas_on(cores: Sequence[set[int]], device: str = "cpu") -> Iterator[list[int]]:
    """Run a service on each of these sets of cores; yields the ports."""
    settings = UNLIMITED | {"ATTENDANT_DEVICE": device}
    own_cores, ports = os.sched_getaffinity(0), list(PORTS[: len(cores)])
    with ExitStack() as stack:
        try:
            for port, replica_cores in zip(ports, cores, strict=True):
                os.sched_setaffinity(0, replica_cores)  # inherited by the process
                stack.enter_context(serving(["service"], port, **settings))
        finally:
            os.sched_setaffinity(0, own_cores)
        yield ports


def check(texts: Sequence[str], seconds: float) -> list[Row]:
    """Compare two replicas, each on a core, with a simulation based on the first."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    with replicas_on([{core} for core in cores]) as ports:
        replica = measure_replica(ports[0], 1, texts, seconds / 4)
        asyncio.run(alone(ports[1], texts[:50]))
        rows = []
        for load in CHECKED_LOADS:
            times = poisson(load * 2 * replica.rate, seconds)
            real = sorted(asyncio.run(arriving(ports, cycled(texts, len(times)), times)))
            simulated = replica.simulated_times(2, load)
            row: Row = {"load": load}
            for percent in (50, 95, 99):
                for side, times_of_side in (("real", real), ("simulated", simulated)):
                    row[f"p{percent} {side}, ms"] = round(
                        1e3 * percentile(times_of_side, percent), 1
                    )
            rows.append(row)
    return rows


def main() -> int:
    """Measure and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.capacity", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="at each load (30)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(cpu)")
    parser.add_argument("--check", action="store_true", help="simulation against two replicas")
    parser.add_argument("--documents", action="store_true", help="only write the page's tables")
    options = parser.parse_args()
    texts = everyday_german(400)
    if options.check:
        print(table(check(texts, options.seconds)))
        return 0
    if not options.documents:
        with replicas_on([os.sched_getaffinity(0)], options.device) as [port]:
            capacity = measure_replica(port, available_cores(), texts, options.seconds / 4)
            measure_loads(port, capacity, texts, options.seconds)
        simulate_many(capacity)
        content = json.dumps(asdict(capacity), indent=1)
        (ROOT / "capacity.json").write_text(content + "\n", encoding="utf-8")
    renew(PAGE, MARK, page_part(read(ROOT / "capacity.json")))
    return 0


def read(path: Path) -> Capacity:
    """Read the results of an earlier run."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    throughput = {int(concurrency): rate for concurrency, rate in fields.pop("throughput").items()}
    return Capacity(throughput=throughput, **fields)


def page_part(capacity: Capacity) -> str:
    """Return the tables of docs/capacity.md."""
    throughput = [
        {"in flight": in_flight, "requests/s": rate}
        for in_flight, rate in capacity.throughput.items()
    ]
    return (
        f"Measured by `python -m tests.bench.capacity` on {capacity.machine}; one replica.\n\n"
        f"{table(throughput)}\nRandom arrivals, at shares of the highest rate above:\n\n"
        f"{table(capacity.loads)}\nSimulated: the highest load at which the 99th percentile is at most "
        f"{P99_LIMIT:g} times that of a replica at {LOADS[0]:.0%} load:\n\n{table(capacity.simulated)}\n"
        "Replicas for a load: its requests per second, divided by the usable share of a replica's highest\n"
        f"throughput, rounded up:\n\n{table(needed(capacity))}"
    )


if __name__ == "__main__":
    sys.exit(main())

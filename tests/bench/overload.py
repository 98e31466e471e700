"""`python -m tests.bench.overload`: send four times the load that the service can serve, on loopback.

Prints the goodput as a share of the capacity, the waiting times of admitted requests, how accurate the
Retry-After of refused requests was, and the memory. Checks that every request gets exactly one answer. With
`--pinned`, the service and the client have a core each.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.online import poisson
from tests.bench.over_http import closed_loop, serving
from tests.bench.text import everyday_german
from tests.raw_http import request

PORT = 8797
OVERLOAD = 4.0
TIMEOUT_SECONDS = 5.0


@dataclass
class Outcome:
    """The results of all requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    admitted_seconds: list[float] = field(default_factory=list)
    refused_seconds: list[float] = field(default_factory=list)
    refusals: list[tuple[float, int]] = field(default_factory=list)
    """The time of each refusal and its Retry-After."""
    begin: float = 0.0
    last_answer: float = 0.0


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def send_at(text: str, due: float, idle_streams: list[Streams], outcome: Outcome) -> None:
    """Send a request at its time, on a free connection or a new one."""
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    started = time.perf_counter()
    streams = (
        idle_streams.pop() if idle_streams else await asyncio.open_connection("127.0.0.1", PORT)
    )
    try:
        head = await _exchange(text, *streams)
    except (OSError, asyncio.IncompleteReadError):  # closed after a long idle time
        streams = await asyncio.open_connection("127.0.0.1", PORT)
        head = await _exchange(text, *streams)
    idle_streams.append(streams)
    now = time.perf_counter()
    status = head.split()[1]
    outcome.statuses[status] += 1
    if status == "200":
        outcome.admitted_seconds.append(now - started)
        outcome.last_answer = max(outcome.last_answer, now)
    elif status == "429":
        wait = next(line for line in head.split("\r\n") if line.startswith("retry-after:"))
        outcome.refusals.append((now, int(wait.split(":")[1])))
        outcome.refused_seconds.append(now - started)


async def _exchange(text: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Send a request and return the head of the answer, after reading its body and checking its id."""
    body = json.dumps({"q": text, "source": "de", "target": "en"}).encode()
    identity = uuid.uuid4().hex
    fields_of_request = f"x-request-id: {identity}", "content-type: application/json"
    writer.write(request("/translate", body, *fields_of_request))
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    fields = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
    await reader.readexactly(int(fields["content-length"]))
    if fields["x-request-id"] != identity:
        raise ConnectionError("an answer to another request")
    return head


def memory_of(pid: int, kind: str = "Pss") -> float:
    """Return resident memory in MiB: the current one without double counting (Pss), or the peak (VmHWM)."""
    file = "smaps_rollup" if kind == "Pss" else "status"
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) / 1024
    return 0.0


def loop_seconds(pid: int) -> float:
    """Return the CPU time of the main thread, which runs the event loop."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_pid(port: int) -> int:
    """Find the process that was started with this port in its environment."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if f"ATTENDANT_PORT={port}".encode() in (folder / "environ").read_bytes():
                    return int(folder.name)
            except OSError:
                continue
    raise RuntimeError("the server is gone")


async def overload(
    texts: Sequence[str], rate: float, seconds: float
) -> tuple[Outcome, list[float]]:
    """Send Poisson arrivals; return the outcome and resident memory every two seconds."""
    outcome, memory = Outcome(), []
    idle_streams: list[Streams] = []
    times = poisson(rate, seconds)
    outcome.begin = begin = time.perf_counter()
    tasks = [
        asyncio.ensure_future(
            send_at(texts[index % len(texts)], begin + due, idle_streams, outcome)
        )
        for index, due in enumerate(times)
    ]
    pid = server_pid(PORT)
    while not all(task.done() for task in tasks):
        memory.append(memory_of(pid))
        await asyncio.sleep(2)
    await asyncio.gather(*tasks)
    return outcome, memory


def main() -> int:
    """Measure and print; return 1 if a request got no answer or a wrong one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pinned", action="store_true", help="service and client on a core each")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    texts = everyday_german(400)
    settings = {
        "ATTENDANT_REQUEST_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "ATTENDANT_LOG_LEVEL": "warning",
        "ATTENDANT_RERANK": "off",
    }
    if options.pinned:
        os.sched_setaffinity(0, cores[:1])  # inherited by the process
    with serving(["service"], PORT, **settings):
        if options.pinned:
            os.sched_setaffinity(0, cores[1:2])
        asyncio.run(closed_loop(PORT, texts[:100], 16))
        server = server_pid(PORT)
        capacity = asyncio.run(closed_loop(PORT, texts * 3, 64))
        rate = OVERLOAD * capacity
        print(f"capacity {capacity:.0f} requests/s; {options.seconds:.0f} s at {rate:.0f}/s")
        seconds_before = loop_seconds(server)
        outcome, memory = asyncio.run(overload(texts, rate, options.seconds))
        seconds_per_request = (loop_seconds(server) - seconds_before) / outcome.statuses.total()
        print(f"the event loop's CPU time: {1e3 * seconds_per_request:.3f} ms a request")
    report(outcome, memory)
    goodput = outcome.statuses["200"] / (outcome.last_answer - outcome.begin)
    print(f"goodput: {goodput:.0f} requests/s, {goodput / capacity:.0%} of the capacity")
    return 0 if set(outcome.statuses) <= {"200", "429", "504"} else 1


def report(outcome: Outcome, memory: Sequence[float]) -> None:
    """Print the outcome."""
    admitted, refused = sorted(outcome.admitted_seconds), sorted(outcome.refused_seconds)
    print(f"{outcome.statuses.total()} requests, each with one answer: {dict(outcome.statuses)}")
    print(
        f"admitted: p50 {statistics.median(admitted):.2f} s, p99 {admitted[int(0.99 * len(admitted))]:.2f} s "
        f"(deadline {TIMEOUT_SECONDS:.0f} s)"
    )
    if refused:
        waits = [wait for _, wait in outcome.refusals]
        last_mean = statistics.mean(waits[-50:])
        drained = outcome.last_answer - outcome.refusals[-1][0]
        print(f"refused: p50 {1e3 * statistics.median(refused):.0f} ms after they came")
        print(
            f"Retry-After: {statistics.mean(waits):.1f} s on average; at the end {last_mean:.1f} s, while "
            f"the queue took {drained:.1f} s to drain"
        )
    print(
        f"memory: {memory[len(memory) // 4]:.0f} MiB after a quarter, {memory[-1]:.0f} MiB at the end"
    )


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.bench.soak`: send everything at once for an hour, on loopback, and look for leaks.

Sends texts of all sizes, HTML, event streams and bad input, disconnects at random, probes, and reloads the
models every minute. Median memory of minutes 5 to 10 is compared with that of the last five, since memory
varies with the requests. Fails if the service fails a request, or if sequences, memory or open files remain
at the end. Admitted requests that are late (504) do not count as failures.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.over_http import serving
from tests.bench.overload import memory_of, server_pid
from tests.bench.text import everyday_german
from tests.raw_http import CLOSE, exchange, request, status_and_body

PORT = 8791
STREAM = "accept: text/event-stream"
SETTLED_SECONDS = 300
RELOAD_SECONDS = 60
BAD = (
    b'{"q": "a", "source": "%s"}' % (b"-" * 40_000),
    b'{"q": ["a", 5], "source": "de"}',
    b'{"q": "a", "source": "zz", "target": "en"}',
    b'{"q": "a", "alternatives": 1e400}',
    b'{"q": "\\ud800", "source": "de"}',
    b"[" * 50_000,
    b"a&" * 100_000,
    b"\xff\xfe\x00",
    b'{"q": "' + b"a" * 60_000 + b'"}',
    b'{"q": "%s", "format": "html", "source": "de"}' % (b"<" + b"a" * 25_000),
    b'{"q": "%s", "source": "de"}' % (b"ab, " * 12_000),
    b"x" * 2_000_000,
)


@dataclass
class Soak:
    """The state of the test."""

    texts: list[str]
    random: random.Random
    end: float
    statuses: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    """Unexpected results, such as connections that the service closed without an answer."""

    def is_over(self) -> bool:
        """Check whether the time is up."""
        return time.monotonic() > self.end

    def body(self) -> bytes:
        """Draw the body of a valid request."""
        pick = self.random
        count = pick.choice((1, 1, 1, 1, 2, 3, 5, 10, 40))
        text: str | list[str] = " ".join(pick.choices(self.texts, k=count))
        fields: dict[str, object] = {"source": pick.choice(("de", "auto")), "target": "en"}
        kind = pick.random()
        if kind < 0.2:
            text = f"<p>{text}</p><ul><li>Ein <b>guter</b> Tag<li>{text[:60]}</ul>"
            fields["format"] = "html"
        elif kind < 0.4:
            text = [str(text), "Guten Morgen!", "42"]
        elif kind < 0.5:
            fields |= {"beam_size": pick.randint(1, 8)}
            fields["alternatives"] = pick.randint(0, int(str(fields["beam_size"])) - 1)
        elif kind < 0.55:
            fields["return_alignment"] = True
        return json.dumps({"q": text, **fields}).encode()


async def send(soak: Soak, body: bytes, *fields: str) -> tuple[int, bytes]:
    """Send a request on a new connection; return the status and body of its answer."""
    try:
        answer = await exchange(PORT, request("/translate", body, CLOSE, *fields))
        status, content = status_and_body(answer)
    except (ConnectionError, ValueError) as error:
        soak.broken[type(error).__name__] += 1
        return 0, b""
    soak.statuses[str(status)] += 1
    return status, content


async def translate(soak: Soak) -> None:
    """Send a valid request and read the answer."""
    await send(soak, soak.body())


async def stream(soak: Soak) -> None:
    """Request an event stream and check that it is complete, or ends with an error at its deadline."""
    status, events = await send(soak, soak.body(), STREAM)
    if b'event: error\ndata: {"error"' in events and b'"code":"deadline_exceeded"' in events:
        soak.statuses["late stream"] += 1
    elif status == 200 and b"event: done" not in events:
        soak.broken["stream without an end"] += 1


async def leave(soak: Soak) -> None:
    """Disconnect at any moment before the answer."""
    body, streams = soak.body(), soak.random.random() < 0.5
    _, writer = await asyncio.open_connection("127.0.0.1", PORT)
    request_bytes = request("/translate", body, *([STREAM] if streams else []))
    num_sent = soak.random.choice(
        (len(request_bytes), len(request_bytes), len(request_bytes), len(request_bytes) // 2, 10)
    )
    writer.write(request_bytes[:num_sent])
    await asyncio.sleep(soak.random.choice((0.0, 0.01, 0.1, 1.0)) * soak.random.random())
    if soak.random.random() < 0.3:
        writer.transport.abort()
    else:
        writer.close()


async def hold_on(soak: Soak) -> None:
    """Open a connection and send nothing, or an incomplete request, for a while."""
    _, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(soak.random.choice((b"", b"POST /trans", b"GET / HTTP/1.1\r\nhost: soak\r\n")))
    await asyncio.sleep(5 * soak.random.random())
    writer.close()


async def misbehave(soak: Soak) -> None:
    """Send a bad request."""
    body = soak.random.choice(BAD)
    headers = ["content-type: application/x-www-form-urlencoded"] if body[:2] == b"a&" else []
    status, _ = await send(soak, body, *headers)
    if status not in (0, 200, 400, 413, 429, 504):
        soak.broken[f"{status} for {body[:20]!r}"] += 1


async def probe(soak: Soak) -> None:
    """Send the requests of an orchestrator and of Prometheus."""
    for path in ("/health/ready", "/metrics", "/languages"):
        if not (await get(path)).startswith(b"HTTP/1.1 200"):
            soak.broken[path] += 1
    await asyncio.sleep(1)


async def get(path: str) -> bytes:
    """Return the whole answer for a path."""
    return await exchange(PORT, request(path, b"", CLOSE, method="GET"))


async def repeat(soak: Soak, act: Callable[[Soak], Awaitable[None]]) -> None:
    """Repeat an action until the time is up."""
    while not soak.is_over():
        await act(soak)
        await asyncio.sleep(0.3 * soak.random.random())


async def reload(soak: Soak, pid: int) -> None:
    """Reload the models every minute."""
    while not soak.is_over():
        await asyncio.sleep(RELOAD_SECONDS)
        os.kill(pid, signal.SIGHUP)


async def run(soak: Soak, pid: int) -> list[float]:
    """Run all actions at once; return resident memory in MiB every ten seconds."""
    acts = [translate] * 8 + [stream] * 4 + [leave] * 4 + [hold_on] * 4 + [misbehave] * 2 + [probe]
    tasks = [asyncio.create_task(repeat(soak, act)) for act in acts]
    tasks.append(asyncio.create_task(reload(soak, pid)))
    memory = []
    while not soak.is_over():
        memory.append(memory_of(pid))
        print(
            f"{10 * len(memory) - 10:5d} s: {memory[-1]:.0f} MiB, {dict(soak.statuses)}", flush=True
        )
        await asyncio.sleep(10)
    await asyncio.gather(*tasks)
    return memory


def value_of(name: str, metrics: str) -> float:
    """Return the value of a metric without labels."""
    line = next(line for line in metrics.splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


def main() -> int:
    """Run the test and print a report; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with serving(["service"], PORT, ATTENDANT_LOG_LEVEL="error"):
        pid = server_pid(PORT)
        files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        end = time.monotonic() + 60 * options.minutes
        soak = Soak(everyday_german(400), random.Random(options.seed), end)
        memory = asyncio.run(run(soak, pid))
        time.sleep(15)  # the last reload retires its models, and connections linger for ten seconds
        metrics = asyncio.run(get("/metrics")).decode()
        left_over = {
            name: value_of(f"attendant_{name}", metrics)
            for name in ("sequences_waiting", "sequences_running", "connections")
        }
        open_files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        last_memory = memory_of(pid)
    window = SETTLED_SECONDS // 10
    settled = statistics.median(memory[window : 2 * window] or memory)
    final = statistics.median(memory[-window:])
    print(f"answers: {dict(soak.statuses)}; broken: {dict(soak.broken) or 'none'}")
    print(
        f"memory: {settled:.0f} MiB after five minutes, {final:.0f} at the end (medians of five minutes), "
        f"{max(memory):.0f} at most, {last_memory:.0f} afterwards"
    )
    print(f"left over: {left_over}; files open: {files} before, {open_files} after")
    failed = [status for status in soak.statuses if status.startswith("5") and status != "504"]
    is_clean = left_over["sequences_waiting"] == left_over["sequences_running"] == 0
    return int(
        bool(failed or soak.broken or not is_clean)
        or final > settled + 100
        or open_files > files + 5
    )


if __name__ == "__main__":
    sys.exit(main())

"""The service over HTTP, compared with CTranslate2 behind the same web framework."""

import asyncio
import json
import os
import pickle
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.bench.measure import Effort, Results
from tests.bench.models import BenchModel
from tests.bench.online import ONE_A_CALL, cycled, latency_ratios, under_loads
from tests.bench.systems import Ours, Remote
from tests.bench.text import everyday_german

CONNECTIONS = 64
LONGEST = 1024
"""Limit for a translation in tokens, which is the bundled model's own."""
UNLIMITED = {
    "ATTENDANT_MAX_REQUESTS": "100000",
    "ATTENDANT_MAX_WAITING": "100000",
    "ATTENDANT_MAX_WAITING_TOKENS": "10000000",
    "ATTENDANT_REQUEST_TIMEOUT_SECONDS": "600",
    "ATTENDANT_DEVICE": "cpu",
}
"""Settings with which the service refuses nothing, like CTranslate2's servers."""
READY_SECONDS = 600.0
"""Maximum time until a server is ready; a large model took more than a minute on a busy machine."""


@contextmanager
def serving(command: Sequence[str], port: int, **environment: str) -> Iterator[None]:
    """Run a Python module as a server, as `started` does.

    Raises:
        RuntimeError: the process has ended, or is not ready after `READY_SECONDS`.
    """
    with started([sys.executable, "-m", *command], port, **environment):
        yield


@contextmanager
def started(command: Sequence[str], port: int, **environment: str) -> Iterator[None]:
    """Run a server in its own process, and wait until it is ready.

    Raises:
        RuntimeError: the process has ended, or is not ready after `READY_SECONDS`.
    """
    process = subprocess.Popen(
        command,
        env={**os.environ, "ATTENDANT_PORT": str(port), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + READY_SECONDS
        while not is_ready(port):
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended with status {process.returncode}")
            if time.monotonic() > end:  # its first answers would be refusals
                raise RuntimeError(f"{command[0]} is not ready after {READY_SECONDS:g} s")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def is_ready(port: int) -> bool:
    """Check whether a server answers, and is ready if it says so."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=1).read()
    except urllib.error.HTTPError as error:
        # other servers lack this path, and listen only when they are ready
        return error.code == 404
    except OSError:
        return False
    return True


class Connection:
    """A keep-alive connection with minimal HTTP, because a library takes more time than the server."""

    def __init__(self, port: int) -> None:
        """Connect at the first request."""
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, text: str) -> float:
        """Translate a text and return the seconds it took."""
        started = time.perf_counter()
        await self._answer(text, rerank=False)  # CTranslate2 only searches
        return time.perf_counter() - started

    async def translate(self, text: str, **options: object) -> str:
        """Return the translation of a text; `options` are further fields of the request."""
        answer = json.loads(await self._answer(text, **options))
        return str(answer["translatedText"])

    async def close(self) -> None:
        """Close the connection."""
        if self.streams is not None:
            self.streams[1].close()
            await self.streams[1].wait_closed()

    async def _answer(self, text: str, **options: object) -> bytes:
        # with a limit, no sentence is taken from the translation memory, which the peer does not have
        fields = {"q": text, "source": "de", "target": "en", "max_decoding_length": LONGEST}
        body = json.dumps({**fields, **options}).encode()
        request = (
            b"POST /translate HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        try:
            return await self._exchange(request)
        except (asyncio.IncompleteReadError, ConnectionError):  # closed after a long idle time
            self.streams = None
            return await self._exchange(request)

    async def _exchange(self, request: bytes) -> bytes:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        fields = head.lower().split(b"\r\n")
        length = next(int(field[15:]) for field in fields if field.startswith(b"content-length:"))
        return await reader.readexactly(length)


async def alone(port: int, texts: Sequence[str]) -> list[float]:
    """Send one request after another; return the seconds of each."""
    connection = Connection(port)
    return [await connection.post(text) for text in texts]


async def closed_loop(port: int, texts: Sequence[str], connections: int) -> float:
    """Send all texts, one after another on each connection; return requests per second."""
    remaining = iter(texts)

    async def work() -> None:
        connection = Connection(port)
        for text in remaining:
            await connection.post(text)

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return len(texts) / (time.perf_counter() - started)


def steady_rate(ends: Sequence[float], connections: int) -> float:
    """Return requests per second while all connections were busy, from the sorted times of their ends.

    The beginning and the end, when fewer requests are in flight, do not count.
    """
    counted = ends[connections : len(ends) - connections + 1]
    return (len(counted) - 1) / (counted[-1] - counted[0])


async def arrivals(
    port: int, texts: Sequence[str], times: Sequence[float]
) -> tuple[list[float], float]:
    """Send every text at its time, on a free connection or a new one.

    Returns:
        The latencies, and the seconds until the last text was translated.
    """
    idle_connections: list[Connection] = []
    started = time.perf_counter()

    async def request(text: str, due: float) -> float:
        await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
        connection = idle_connections.pop() if idle_connections else Connection(port)
        await connection.post(text)
        idle_connections.append(connection)
        return time.perf_counter() - started - due

    latencies = await asyncio.gather(
        *(request(*text_and_time) for text_and_time in zip(texts, times, strict=True))
    )
    return latencies, time.perf_counter() - started


def measure(
    model: BenchModel, folder: Path, capacity: float, effort: Effort, results: Results
) -> None:
    """Measure the default bundle over HTTP, int8, 4 beams: the service and CTranslate2's servers in turn."""
    (folder / "model.pickle").write_bytes(pickle.dumps(model))
    shell = ("tests.bench.shell", str(folder), str(effort.cores))
    commands = {"service": ("service",), "batcher": shell}
    if not effort.quick:
        commands[ONE_A_CALL] = (*shell, "--single")
    texts = everyday_german(len(model.sources))
    with ExitStack() as stack:
        ports = {name: free_port() for name in commands}
        for name, command in commands.items():
            stack.enter_context(serving(command, ports[name], **UNLIMITED))
            asyncio.run(alone(ports[name], texts[:20]))
        _beside_engine(ports["service"], model, texts, effort, results)
        _one_and_many(ports, texts, effort, results)
        sides = {f"{name}, HTTP": partial(_arrive, port, texts) for name, port in ports.items()}
        loads = (0.8,) if effort.quick else (0.3, 0.6, 0.8)
        rows = under_loads(sides, loads, capacity, effort)
        results.online += [{"model": model.name, **row} for row in rows.values()]
        theirs, ours = rows["batcher, HTTP", 0.8], rows["service, HTTP", 0.8]
        results.ratios |= latency_ratios("http80.default", theirs, ours)


def _one_and_many(
    ports: dict[str, int], texts: Sequence[str], effort: Effort, results: Results
) -> None:
    singles: dict[str, list[float]] = {name: [] for name in ports}
    rates: dict[str, list[float]] = {name: [] for name in ports}
    for _ in range(effort.rounds):
        for name, port in ports.items():
            singles[name] += asyncio.run(alone(port, texts[:20]))
            rates[name].append(asyncio.run(closed_loop(port, texts, CONNECTIONS)))
    alone_ms = {name: 1e3 * statistics.median(seconds) for name, seconds in singles.items()}
    rate = {name: statistics.median(rates_of_server) for name, rates_of_server in rates.items()}
    results.http += [
        {
            "server": name,
            "one request, p50 ms": round(alone_ms[name], 2),
            f"{CONNECTIONS} connections, requests/s": round(rate[name], 1),
        }
        for name in ports
    ]
    results.ratios["http.single.default"] = alone_ms["batcher"] / alone_ms["service"]
    results.ratios["http.saturation.default"] = rate["service"] / rate["batcher"]


def _arrive(port: int, texts: Sequence[str], times: Sequence[float]) -> tuple[list[float], float]:
    return asyncio.run(arrivals(port, cycled(texts, len(times)), times))


def _beside_engine(
    port: int, model: BenchModel, texts: Sequence[str], effort: Effort, results: Results
) -> None:
    """Measure the time that HTTP adds to a sentence, and its throughput relative to the engine's, in turn."""
    with Remote(Ours, model, "int8", effort.cores) as engine, asyncio.Runner() as runner:
        connection = Connection(port)
        singles = [
            (engine.timed("translate", [source], 4)[0], runner.run(connection.post(text)))
            for source, text in zip(model.sources[:60], texts[:60], strict=True)
        ]
        rates = [
            (
                len(texts) / engine.timed("translate", model.sources, 4)[0],
                runner.run(closed_loop(port, texts, CONNECTIONS)),
            )
            for _ in range(effort.rounds)
        ]
    alone_engine, alone_http = (statistics.median(side) for side in zip(*singles[10:], strict=True))
    engine_rate, http_rate = (statistics.median(side) for side in zip(*rates, strict=True))
    results.notes["http.added_ms"] = round(1e3 * (alone_http - alone_engine), 2)
    results.notes["http.share_of_engine"] = round(http_rate / engine_rate, 2)


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

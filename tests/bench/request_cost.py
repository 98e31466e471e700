"""`python -m tests.bench.request_cost`: measure what served and refused requests cost the event loop.

Measures CPU time and, if the system counts them, user instructions, which hardly depend on other load.

The service runs on loopback. Served requests are single sentences, from as many connections as requests may
be in flight. Refused requests arrive while long documents occupy all of these places.
"""

import argparse
import asyncio
import json
import math
import statistics
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from tests.bench.instructions import InstructionCounter
from tests.bench.over_http import serving
from tests.bench.overload import server_pid
from tests.bench.text import everyday_german
from tests.raw_http import request

PORT = 8793
PLACES = 16
SENTENCES, REFUSALS = 400, 2_000
DOCUMENT_CHARACTERS = 20_000
SETTINGS = {
    "ATTENDANT_MAX_REQUESTS": str(PLACES),
    "ATTENDANT_MAX_WAITING": "100000",
    "ATTENDANT_MAX_WAITING_TOKENS": "10000000",
    "ATTENDANT_REQUEST_TIMEOUT_SECONDS": "600",
    "ATTENDANT_LOG_LEVEL": "warning",
    "ATTENDANT_RERANK": "off",
}


class Client:
    """A client with one connection."""

    def __init__(self, port: int) -> None:
        """`port` is that of the service."""
        self.port = port

    async def connect(self) -> "Client":
        """Open the connection and return the client."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def post(self, text: str) -> int:
        """Send a request and return the status of its answer."""
        body = json.dumps({"q": text, "source": "de", "target": "en"}).encode()
        self.writer.write(request("/translate", body, "content-type: application/json"))
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
        await self.reader.readexactly(int(fields["content-length"]))
        return int(head.split()[1])


class Cost(NamedTuple):
    """The cost of a process's main thread, which runs the event loop."""

    milliseconds: float
    """CPU time."""
    instructions: float
    """Millions of instructions in user mode; NaN if the system does not count them."""


class LoopCosts:
    """Measures the cost of a process's event loop."""

    def __init__(self, pid: int) -> None:
        """Start counting."""
        self._schedstat = Path(f"/proc/{pid}/task/{pid}/schedstat")
        self._counter: InstructionCounter | None = None
        with suppress(OSError):
            self._counter = InstructionCounter(pid)

    def so_far(self) -> Cost:
        """Return the cost so far."""
        nanoseconds = int(self._schedstat.read_text().split()[0])
        instructions = self._counter.read() if self._counter else math.nan
        return Cost(nanoseconds / 1e6, instructions / 1e6)

    def of_each(self, before: Cost, requests: int) -> Cost:
        """Return the cost per request of the given number of requests since `before`."""
        pairs = zip(self.so_far(), before, strict=True)
        return Cost(*((now - earlier) / requests for now, earlier in pairs))


async def post_all(clients: Sequence[Client], texts: Sequence[str]) -> set[int]:
    """Send all texts, one after another on each client, and return the statuses."""
    remaining, statuses = iter(texts), set()

    async def run(client: Client) -> None:
        for text in remaining:
            statuses.add(await client.post(text))

    await asyncio.gather(*map(run, clients))
    return statuses


async def measure(port: int, pid: int, rounds: int) -> tuple[Cost, Cost]:
    """Measure the median costs of a served and of a refused request."""
    costs = LoopCosts(pid)
    clients = [await Client(port).connect() for _ in range(PLACES)]
    extra = await Client(port).connect()
    texts = everyday_german(SENTENCES)
    document = " ".join(everyday_german(SENTENCES, seed=1))[:DOCUMENT_CHARACTERS]
    await post_all(clients, texts)
    served, refused = [], []
    for _ in range(rounds):
        before = costs.so_far()
        assert await post_all(clients, texts) == {200}
        served.append(costs.of_each(before, SENTENCES))
        busy = [asyncio.ensure_future(client.post(document)) for client in clients]
        while await extra.post("") != 429:
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        before = costs.so_far()
        refused_texts = [text for _, text in zip(range(REFUSALS), cycle(texts), strict=False)]
        assert await post_all([extra], refused_texts) == {429}
        refused.append(costs.of_each(before, REFUSALS))
        await asyncio.gather(*busy)
    return _medians(served), _medians(refused)


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.request_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args()
    with serving(["service"], options.port, **SETTINGS):
        pid = server_pid(options.port)
        measured = asyncio.run(measure(options.port, pid, options.rounds))
    for kind, cost in zip(("served", "refused"), measured, strict=True):
        print(
            f"{kind}: {cost.milliseconds:.3f} ms of the event loop's CPU time, "
            f"{cost.instructions:.2f} million instructions"
        )


if __name__ == "__main__":
    main()

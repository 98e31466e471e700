"""`python -m tests.bench.request_cost`: CPU time of the event loop for a request that is served, and refused.

The service is real and on loopback. Served are single sentences, from as many connections as requests may be
in flight; refused is who comes while long documents are in all of these places.
"""

import argparse
import asyncio
import json
import statistics
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

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
    """A connection, and what came on it."""

    def __init__(self, port: int) -> None:
        """Not connected yet."""
        self.port = port

    async def connect(self) -> "Client":
        """Open it."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def post(self, text: str) -> int:
        """The status of the answer to a request."""
        body = json.dumps({"q": text, "source": "de", "target": "en"}).encode()
        self.writer.write(request("/translate", body, "content-type: application/json"))
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
        await self.reader.readexactly(int(fields["content-length"]))
        return int(head.split()[1])


def loop_milliseconds(pid: int) -> float:
    """CPU time of the main thread, which is the event loop's."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


async def post_all(clients: Sequence[Client], texts: Sequence[str]) -> set[int]:
    """The statuses of all answers; each client sends one request after another."""
    rest, found = iter(texts), set()

    async def run(client: Client) -> None:
        for text in rest:
            found.add(await client.post(text))

    await asyncio.gather(*map(run, clients))
    return found


async def measure(port: int, pid: int, rounds: int) -> tuple[float, float]:
    """Milliseconds for each request that is served, and that is refused; medians."""
    clients = [await Client(port).connect() for _ in range(PLACES)]
    extra = await Client(port).connect()
    texts = everyday_german(SENTENCES)
    document = " ".join(everyday_german(SENTENCES, seed=1))[:DOCUMENT_CHARACTERS]
    await post_all(clients, texts)
    served, refused = [], []
    for _ in range(rounds):
        before = loop_milliseconds(pid)
        assert await post_all(clients, texts) == {200}
        served.append((loop_milliseconds(pid) - before) / SENTENCES)
        long = [asyncio.ensure_future(client.post(document)) for client in clients]
        while await extra.post("") != 429:
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        before = loop_milliseconds(pid)
        short = [text for _, text in zip(range(REFUSALS), cycle(texts), strict=False)]
        assert await post_all([extra], short) == {429}
        refused.append((loop_milliseconds(pid) - before) / REFUSALS)
        await asyncio.gather(*long)
    return statistics.median(served), statistics.median(refused)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.request_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args()
    with serving(["service"], options.port, **SETTINGS):
        pid = server_pid(options.port)
        served, refused = asyncio.run(measure(options.port, pid, options.rounds))
    print(f"the event loop's CPU time: {served:.3f} ms served, {refused:.3f} ms refused")


if __name__ == "__main__":
    main()

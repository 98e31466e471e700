"""Clients that leave a real server: their work ends with them."""

import asyncio
import json
import random
import re
from collections.abc import Iterator

import httpx
import pytest

from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import Server, serving

TEXT = " ".join(german for german, _ in toy.sentences()[:60])
STREAM = "accept: text/event-stream\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One that takes its time."""
    with serving(TINY_BUNDLE, num_loops="1", max_num_seqs="2", max_waiting="20000") as server:
        yield server


def metric(url: str, pattern: str) -> float:
    found = re.search(rf"^{pattern} (\S+)$", httpx.get(f"{url}/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))


def request(text: str, fields: str = "") -> bytes:
    body = json.dumps({"q": text, "source": "de", "target": "en", "beam_size": 8}).encode()
    head = f"POST /translate HTTP/1.1\r\nhost: here\r\n{fields}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("fields", ["", STREAM])
@pytest.mark.parametrize("abruptly", [False, True])
def test_work_ends_soon_after_its_clients_have_left(
    server: Server, fields: str, abruptly: bool
) -> None:
    async def leave() -> None:
        writers = [(await connect(server.url))[1] for _ in range(30)]
        for writer in writers:
            writer.write(request(TEXT, fields))
            await writer.drain()
        await asyncio.sleep(0.1)
        for writer in writers:
            writer.transport.abort() if abruptly else writer.close()
        await asyncio.sleep(0.5)

    asyncio.run(leave())
    assert metric(server.url, "attendant_sequences_waiting") == 0
    assert metric(server.url, "attendant_sequences_running") == 0


def test_of_requests_given_up_at_random_none_is_translated_to_its_end(server: Server) -> None:
    """A long one in front keeps them waiting, so that each could be given up in time."""
    done = r'attendant_sentences_total\{direction="de-en",outcome="ok"\}'
    before = metric(server.url, done)
    chance = random.Random(1)

    async def give_up(seconds: float) -> None:
        _, writer = await connect(server.url)
        writer.write(request(TEXT, chance.choice(["", STREAM])))
        await asyncio.sleep(seconds)
        writer.transport.abort() if chance.random() < 0.5 else writer.close()

    async def run() -> None:
        _, writer = await connect(server.url)
        writer.write(request(" ".join([TEXT] * 20)))
        await writer.drain()
        await asyncio.sleep(0.1)
        for _ in range(20):
            await asyncio.gather(*(give_up(0.02 * chance.random()) for _ in range(25)))
        writer.transport.abort()
        await asyncio.sleep(0.5)

    asyncio.run(run())
    assert metric(server.url, done) == before
    cancelled = metric(server.url, done.replace("ok", "cancelled"))
    assert cancelled >= 60 * 20
    assert metric(server.url, "attendant_sequences_waiting") == 0
    assert metric(server.url, "attendant_sequences_running") == 0

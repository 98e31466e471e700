"""Clients that leave a real server: their work ends with them."""

import asyncio
import json
import random
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import Server, serving
from tests.raw_http import request
from tests.waiting import wait_until

TEXTS = [
    " ".join(german for german, _ in toy.sentences()[first : first + 60])
    for first in range(0, 540, 60)
]
"""Texts of 60 sentences, which all differ, as equal ones of a request are searched once."""
SHORT = " ".join(german for german, _ in toy.sentences()[:40])
STREAM = "accept: text/event-stream"
DONE = r'attendant_sentences_total\{direction="de-en",outcome="ok"\}'
ENDINGS = (499, 429, 200)
"""Most are noticed to have left; the queue may be full for some, and streams may have begun."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One that takes its time."""
    with serving(
        TINY_BUNDLE,
        num_workers="1",
        max_num_seqs="2",
        max_waiting="20000",
        request_timeout_seconds="3600",  # nobody is refused for lack of time
    ) as server:
        yield server


async def begin(server: Server, text: str, *fields: str) -> asyncio.StreamWriter:
    """A client that has sent its request."""
    body = json.dumps({"q": text, "source": "de", "target": "en", "beam_size": 8}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request("/translate", body, *fields))
    await writer.drain()
    return writer


def works(server: Server) -> bool:
    return server.metric("attendant_sequences_running") > 0


def rests(server: Server) -> bool:
    return not works(server) and server.metric("attendant_sequences_waiting") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_kernel_holds_little_of_what_is_not_read(server: Server) -> None:
    # the first one is still being translated when the others have filled all buffers
    body = {"q": " ".join(TEXTS * 2), "source": "de", "target": "en", "beam_size": 8}
    uploads = memoryview(request("/translate", json.dumps(body).encode()) * 100)
    with socket.socket() as unread, socket.create_connection(("127.0.0.1", server.port)) as ahead:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.connect(("127.0.0.1", server.port))
        unread.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n" * 100)
        ahead.setblocking(False)
        held = [(0, 0)]

        def is_full() -> bool:
            nonlocal uploads
            with suppress(BlockingIOError):
                while uploads:
                    uploads = uploads[ahead.send(uploads) :]
            held.append((in_kernel(server, unread)[0], in_kernel(server, ahead)[1]))
            return all(held[-1]) and held[-1] == held[-2]

        wait_until(is_full, seconds=20, pause_seconds=0.5)
    assert max(held[-1]) <= 512 * 1024


def in_kernel(server: Server, client: socket.socket) -> tuple[int, int]:
    """Return how many bytes the kernel holds that the server has sent, and that it has not read."""
    ports = f":{server.port:04X}", f":{client.getsockname()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if (local[-5:], remote[-5:]) == ports:
            sent, received = (int(queue, 16) for queue in queues.split(":"))
            return sent, received
    return 0, 0


@pytest.mark.parametrize("fields", [[], [STREAM]])
@pytest.mark.parametrize("abruptly", [False, True])
def test_work_ends_soon_after_clients_disconnect(
    server: Server, fields: list[str], abruptly: bool
) -> None:
    async def leave() -> None:
        writers = [await begin(server, " ".join(TEXTS[:4]), *fields) for _ in range(30)]
        await asyncio.to_thread(wait_until, lambda: works(server))
        for writer in writers:
            writer.transport.abort() if abruptly else writer.close()
        await asyncio.to_thread(wait_until, lambda: rests(server))

    def counted(status: int) -> float:
        labels = rf'method="POST",route="/translate",status="{status}"'
        return server.metric(rf"attendant_requests_total\{{{labels}\}}")

    wait_until(lambda: server.metric("attendant_connections") <= 1)  # those of others have ended
    left, all_told, done = counted(499), sum(map(counted, ENDINGS)), server.metric(DONE)
    asyncio.run(leave())
    assert server.metric(DONE) < done + 30 * 4 * 60 / 2
    wait_until(lambda: server.metric("attendant_connections") <= 1)
    wait_until(lambda: server.metric("attendant_requests_in_flight") == 1)  # this one
    assert counted(499) > left
    assert (
        sum(map(counted, ENDINGS)) <= all_told + 30
    )  # some may have been reset before they were read
    assert counted(503) == 0


def test_requests_cancelled_at_random_are_not_completed(server: Server) -> None:
    """Long ones in front keep them waiting, so that each could be given up in time."""
    before = server.metric(DONE)
    chance = random.Random(1)

    async def give_up(seconds: float) -> None:
        writer = await begin(server, SHORT, chance.choice(["accept: */*", STREAM]))
        await asyncio.sleep(seconds)
        writer.transport.abort() if chance.random() < 0.5 else writer.close()

    async def run() -> None:
        in_front = [await begin(server, " ".join(TEXTS * 2)) for _ in range(6)]
        await asyncio.to_thread(wait_until, lambda: works(server))
        for _ in range(10):
            await asyncio.gather(*(give_up(0.02 * chance.random()) for _ in range(25)))
        for writer in in_front:
            writer.transport.abort()
        await asyncio.to_thread(wait_until, lambda: rests(server))

    asyncio.run(run())
    assert server.metric(DONE) == before
    assert server.metric(DONE.replace("ok", "cancelled")) >= 60 * 18


def test_requests_reset_before_they_are_read_cost_nothing(
    server: Server,
) -> None:
    counted = "attendant_tokenize_duration_seconds_count"
    body = json.dumps({"q": SHORT, "source": "de", "target": "en"}).encode()
    wait_until(lambda: server.metric("attendant_connections") <= 1)  # those of others have ended
    before = server.metric(counted)
    server.process.send_signal(signal.SIGSTOP)  # the kernel alone has them
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(request("/translate", body))
            # closing is a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.process.send_signal(signal.SIGCONT)
    assert httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200
    wait_until(lambda: server.metric("attendant_connections") <= 1)
    assert server.metric(counted) == before

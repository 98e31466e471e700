"""How a real server ends: what is in flight, what waits in the kernel, what hangs."""

import asyncio
import ctypes
import errno
import json
import signal
import socket
import struct
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from service.api.server import drop_new
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import Server, get, serving
from tests.raw_http import CLOSE, exchange, request, status_and_body
from tests.waiting import wait_until

pytest.importorskip("resource", reason="needs a POSIX system")

LONG = [" ".join(german for german, _ in toy.sentences()[n : n + 5]) for n in range(0, 600, 5)]
BODY = json.dumps({"q": "Der Hund schläft.", "source": "de", "target": "en"}).encode()
REQUEST = request("/translate", BODY, CLOSE)


def test_requests_cut_off_by_the_drain_get_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = {"num_workers": "1", "max_num_seqs": "1", "drain_seconds": "0.1"}
    slow |= {"max_waiting": "10000", "request_timeout_seconds": "3600"}

    async def post_and_terminate(server: Server) -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=60) as client:
            body = {"q": LONG, "source": "de", "target": "en", "beam_size": 8}
            streams = {"accept": "text/event-stream"}
            pending = [
                asyncio.create_task(
                    client.post(
                        f"{server.url}{path}", json=body | deepl, headers=streams if at % 2 else {}
                    )
                )
                for path, deepl in (
                    ("/translate", {}),
                    ("/v2/translate", {"text": LONG, "target_lang": "EN"}),
                )
                for at in range(4)
            ]
            await asyncio.to_thread(wait_until, lambda: all_in_work(server, len(pending)))
            server.process.send_signal(signal.SIGTERM)
            return list(await asyncio.gather(*pending))

    with serving(TINY_BUNDLE, log, **slow) as server:
        answers = asyncio.run(post_and_terminate(server))
        assert server.process.wait(60) == 0
    streamed = [one for one in answers if one.headers["content-type"].startswith("text/event")]
    plain = [one for one in answers if one not in streamed]
    assert {one.status_code for one in plain} == {503}
    for answer in plain:
        is_deepl = answer.request.url.path.startswith("/v2")
        assert answer.json().keys() == ({"message", "detail"} if is_deepl else {"error", "code"})
    for answer in streamed:
        assert answer.text.count("event: error\n") == 1
    assert "Traceback" not in log.read_text()


def all_in_work(server: Server, count: int) -> bool:
    """Whether so many requests are with the service, beside the one that asks."""
    in_flight = server.metric("attendant_requests_in_flight")
    return in_flight == count + 1 and server.metric("attendant_sequences_running") > 0


@pytest.mark.slow
def test_requests_are_still_served_for_a_while_after_sigterm() -> None:
    with serving(TINY_BUNDLE, stop_delay_seconds="5") as server, httpx.Client() as kept:
        assert kept.get(f"{server.url}/health").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: get(f"{server.url}/health/ready").status_code == 503)
        for client in (kept, httpx):
            answer = client.post(f"{server.url}/translate", content=BODY)
            assert answer.status_code == 200
            assert answer.headers["connection"] == "close"
        assert server.process.wait(60) == 0


def test_connections_accepted_by_the_kernel_are_answered() -> None:
    with serving(TINY_BUNDLE) as server:
        # stopped, the process takes in no connection: the kernel alone has them
        server.process.send_signal(signal.SIGSTOP)
        early = [server.connect() for _ in range(200)]
        for connection in early[::2]:
            connection.sendall(REQUEST)
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        for connection in early[1::2]:  # only now
            connection.sendall(REQUEST)
        statuses = [connection.recv(12).partition(b" ")[2] for connection in early]
        for connection in early:
            connection.close()
        assert set(statuses) <= {b"200", b"503"}
        assert server.process.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has packet filters")
def test_only_connections_that_clients_have_begun_to_open_become_open() -> None:
    attach, detach = 26, 27
    drop_all = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0))
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as clients:
        begun, late = (clients.enter_context(socket.socket()) for _ in range(2))
        # the first does not hear the answer to its first packet until the listener drops those of others
        program = struct.pack("HP", 1, ctypes.addressof(drop_all))
        begun.setsockopt(socket.SOL_SOCKET, attach, program)
        for client in (begun, late):
            client.setblocking(False)
        assert begun.connect_ex(listener.getsockname()) == errno.EINPROGRESS
        drop_new(listener)
        assert late.connect_ex(listener.getsockname()) == errno.EINPROGRESS
        begun.setsockopt(socket.SOL_SOCKET, detach, 0)
        listener.settimeout(30)  # its kernel answers again after a second
        accepted, address = listener.accept()
        with accepted:
            assert address == begun.getsockname()
            begun.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_an_incomplete_request_does_not_delay_shutdown() -> None:
    with serving(TINY_BUNDLE) as server, ExitStack() as opened:
        half = [opened.enter_context(server.connect()) for _ in range(3)]
        for connection, size in zip(half, (-5, -5, len(REQUEST) // 8), strict=True):
            connection.sendall(REQUEST[:size])
        wait_until(lambda: server.metric("attendant_requests_in_flight") == 3)  # its own is one
        server.process.send_signal(signal.SIGTERM)
        half[1].sendall(REQUEST[-5:])  # this one is complete just in time
        started = time.monotonic()
        answers = [http_answer(connection) for connection in half]
        assert server.process.wait(60) == 0
        assert time.monotonic() - started < 10
    assert [status for status, _ in answers] in ([503, 200, 503], [503, 503, 503])
    for _, head in answers:
        assert b"connection: close" in head.lower()


def http_answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and head of what comes until the connection ends."""
    received = b"".join(iter(lambda: connection.recv(65536), b""))
    return status_and_body(received)[0], received.partition(b"\r\n\r\n")[0]


@pytest.mark.slow
def test_sigterm_under_load_yields_only_answers_and_refusals() -> None:
    for _ in range(3):
        # long times, for slow machines
        with serving(TINY_BUNDLE, request_timeout_seconds="600", drain_seconds="600") as server:
            statuses = asyncio.run(_loaded_and_terminated(server))
            assert server.process.wait(60) == 0
        assert set(statuses) <= {"200", "503", "429", "refused"}
        assert statuses.count("200") >= 200


async def _loaded_and_terminated(server: Server) -> list[str]:
    """What became of 200 requests in flight, and of new ones after the signal."""
    sent = request("/translate", json.dumps({"q": LONG[0], "source": "de"}).encode(), CLOSE)

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        return str(status_and_body(answer)[0])

    async def one() -> str:
        try:
            answer = await exchange(server.port, sent)
        except ConnectionError as error:
            if "Connect call failed" not in str(error):
                raise
            return "refused"  # by the kernel, perhaps just as the service stopped listening
        return str(status_and_body(answer)[0])

    streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(200)]
    first = [asyncio.create_task(answered(*stream)) for stream in streams]
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    server.process.send_signal(signal.SIGTERM)
    later = []
    for _ in range(100):
        later.append(asyncio.create_task(one()))
        await asyncio.sleep(0.01)
    return list(await asyncio.gather(*first, *later))

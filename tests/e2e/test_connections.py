"""Connections to a real server: idle ones, too many of them, and heads in pieces or without an end."""

import select
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import Server, serving, translate_toy


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(TINY_BUNDLE) as server:
        yield server


def test_idle_connections_stay_open_but_do_not_delay_shutdown() -> None:
    with serving(TINY_BUNDLE) as server:
        # unlike httpx, it does not quietly open another one
        connection = HTTPConnection("127.0.0.1", server.port)
        for pause in (5.5, 0.0):  # uvicorn's own limit is 5
            connection.request("GET", "/health/live")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            time.sleep(pause)
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 20  # of 60 that running requests would have
        connection.close()


def test_a_head_may_arrive_in_many_pieces(server: Server) -> None:
    for size, status in ((60_000, b"400"), (100_000, b"414")):
        with server.connect() as connection:
            head = b"GET /v2/translate?text=" + b"a" * size + b" HTTP/1.1\r\nhost: here\r\n\r\n"
            for at in range(0, len(head), 5000):
                connection.sendall(head[at : at + 5000])
                time.sleep(0.005)
            assert connection.recv(12) == b"HTTP/1.1 " + status


def test_an_endless_head_is_refused_soon_after_twice_the_limit(server: Server) -> None:
    with server.connect() as connection:
        head = b"GET / HTTP/1.1\r\nhost: here\r\nx-much: "
        connection.sendall(head.ljust(2 * 65536 + 4096, b"a"))
        assert select.select([connection], [], [], 0.3)[0] == []
        connection.sendall(b"aaa")
        assert connection.recv(12) == b"HTTP/1.1 431"
    assert httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200


def test_idle_connections_beyond_the_limit_of_descriptors_lock_nobody_out(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="needs a POSIX system")
    log = tmp_path / "log"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256 if hard == 256 else hard))
    try:
        with serving(TINY_BUNDLE, log, max_connections="200", log_level="warning") as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            idle = [server.connect() for _ in range(600)]
            for _ in range(5):
                assert httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200
                assert translate_toy(server.url, ["Der Hund schläft."])
            assert 0 < server.metric("attendant_connections") <= 200
            for connection in idle:
                connection.close()
            assert server.stop() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(log.read_text().splitlines()) < 10

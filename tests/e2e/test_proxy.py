"""The configurations for HAProxy, run by HAProxy: what one replica refuses, another gets, once."""

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "docker" / "haproxy.cfg"
BODY = {"text": "Guten Morgen!", "source": "de", "target": "en"}


class Replica(ThreadingHTTPServer):
    """Stands in for the service: is ready, and answers every other request with one status."""

    def __init__(self, status: int, ready: int = 200) -> None:
        self.status, self.ready = status, ready
        self.bodies: list[bytes] = []
        self.is_slow, self.saw_nobody_wait = False, threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a health check resets its connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Replica

    def do_GET(self) -> None:
        is_probe = self.path == "/health/ready"
        self.answer(self.server.ready if is_probe else self.server.status)

    do_OPTIONS = do_GET

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        if self.server.is_slow:
            with suppress(ConnectionError):
                self.rfile.read(1)  # until the connection ends
            self.server.saw_nobody_wait.set()
            return
        self.answer(self.server.status)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        if status in (429, 503):
            self.send_header("retry-after", "7")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _version() -> tuple[int, ...]:
    if not shutil.which("haproxy"):
        return ()
    said = subprocess.run(["haproxy", "-v"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", said)
    assert found, said
    return tuple(map(int, found.groups()))


pytestmark = pytest.mark.skipif(_version() < (2, 6), reason="needs HAProxy 2.6")


_needs_retry_on_429 = pytest.mark.skipif(_version() < (3, 1), reason="needs HAProxy 3.1")


@contextmanager
def proxied(folder: Path, *replicas: Replica) -> Iterator[str]:
    """The address of HAProxy in front of them, once it knows which of them are ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    servers = "\n".join(
        f"    server replica{number} 127.0.0.1:{replica.server_address[1]}"
        for number, replica in enumerate(replicas)
    )
    text = CONFIGURATION.read_text("utf-8")
    text, binds = re.subn("bind :8080", f"bind 127.0.0.1:{port}", text)
    text, templates = re.subn(r"(?m)^    server-template .*\n", "", text)
    text, _ = re.subn(r"(?ms)^resolvers docker.*?(?=^\w)", "", text)
    text = text.replace(" resolvers docker init-addr none", "") + servers + "\n"
    assert (binds, templates) == (1, 2)
    (folder / "haproxy.cfg").write_text(text, "utf-8")
    with ExitStack() as stack:
        for replica in replicas:
            threading.Thread(target=replica.serve_forever, args=(0.02,), daemon=True).start()
            stack.callback(replica.server_close)
            stack.callback(replica.shutdown)
        process = subprocess.Popen(["haproxy", "-q", "-f", folder / "haproxy.cfg"])
        stack.callback(process.wait, 10)
        stack.callback(process.kill)
        url = f"http://127.0.0.1:{port}"
        _wait_until_it_listens(url)
        yield url


def _wait_until_it_listens(url: str) -> None:
    for _ in range(200):
        try:
            httpx.get(url, timeout=60)
            return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError("HAProxy does not listen")


def _example() -> str:
    """The configuration in docs/deployment.md."""
    page = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    return page.partition("### HAProxy")[2].split("```")[1]


@pytest.mark.parametrize("text", [CONFIGURATION.read_text("utf-8"), _example()])
def test_a_configuration_is_valid_and_has_all_timeouts(text: str, tmp_path: Path) -> None:
    (tmp_path / "haproxy.cfg").write_text(text, "utf-8")
    checked = subprocess.run(
        ["haproxy", "-c", "-f", tmp_path / "haproxy.cfg"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stderr
    timeouts = set(re.findall(r"^ +timeout (\S+) \d+s$", text, re.MULTILINE))
    assert timeouts == {"connect", "client", "server", "http-request"}


@pytest.mark.parametrize("refusal", [pytest.param(429, marks=_needs_retry_on_429), 503])
def test_a_refused_request_is_retried_with_its_body(tmp_path: Path, refusal: int) -> None:
    full, free = Replica(refusal), Replica(200)
    with proxied(tmp_path, full, free) as url:
        statuses = [
            httpx.post(f"{url}/translate", json=BODY, timeout=60).status_code for _ in range(8)
        ]
    assert statuses == [200] * 8
    assert full.bodies, "it was asked, too"
    assert len(free.bodies) == 8
    assert set(free.bodies) == set(full.bodies)


@_needs_retry_on_429
def test_if_all_replicas_refuse_the_client_gets_retry_after(tmp_path: Path) -> None:
    replicas = [Replica(429) for _ in range(3)]
    with proxied(tmp_path, *replicas) as url:
        answer = httpx.post(f"{url}/translate", json=BODY, timeout=60)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert [len(one.bodies) for one in replicas if one.bodies] == [1, 1], "two tries, not three"


def test_other_errors_are_not_retried(tmp_path: Path) -> None:
    replicas = [Replica(500), Replica(500)]
    with proxied(tmp_path, *replicas) as url:
        assert httpx.post(f"{url}/translate", json=BODY, timeout=60).status_code == 500
    assert sum(len(one.bodies) for one in replicas) == 1


def test_a_stopped_replica_fails_no_request(tmp_path: Path) -> None:
    gone, there = Replica(200), Replica(200)
    with proxied(tmp_path, gone, there) as url:
        gone.shutdown()
        gone.server_close()
        statuses = [
            httpx.post(f"{url}/translate", json=BODY, timeout=60).status_code for _ in range(8)
        ]
    assert statuses == [200] * 8


def test_a_disconnect_of_the_client_reaches_the_replica(tmp_path: Path) -> None:
    slow = Replica(200)
    with proxied(tmp_path, slow) as url:
        slow.is_slow = True
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/translate", json=BODY, timeout=0.3)
        assert slow.saw_nobody_wait.wait(60)


@pytest.mark.parametrize("path", ["/metrics", "/admin/reload"])
def test_operator_routes_are_hidden_from_clients(tmp_path: Path, path: str) -> None:
    with proxied(tmp_path, Replica(200)) as url:
        assert httpx.post(f"{url}{path}", json={}, timeout=60).status_code == 404
        assert httpx.get(f"{url}/languages", timeout=60).status_code == 200

"""Ids, paths, the shapes of errors, and clients that go away."""

import asyncio
import json
import time

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from service.api.dependencies import unless_client_leaves
from service.app import create_app
from service.errors import CancelledError
from service.settings import Settings
from tests.service.api.asgi import ask


def test_every_answer_has_an_id_and_a_clients_own_is_kept(client: TestClient) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    answer = client.get("/health", headers={"x-request-id": "job-17.a"})
    assert answer.headers["x-request-id"] == "job-17.a"
    answer = client.get("/health", headers={"x-request-id": "no spaces, please"})
    assert answer.headers["x-request-id"] != "no spaces, please"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/translate", 405), ("GET", "/x", 404)]
)
def test_errors_of_the_framework_have_our_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json().keys() == {"error", "code"}


def test_work_is_cancelled_when_its_client_leaves() -> None:
    cancelled = False

    async def receive() -> dict[str, str]:
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def work() -> None:
        nonlocal cancelled
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def serve() -> None:
        await unless_client_leaves(Request({"type": "http"}, receive), work())

    started = time.monotonic()
    with pytest.raises(CancelledError, match="closed its connection"):
        asyncio.run(serve())
    assert cancelled
    assert time.monotonic() - started < 10


def test_a_client_that_leaves_as_the_work_ends_cancels_nothing_after_it() -> None:
    left = asyncio.Event()

    async def receive() -> dict[str, str]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def work() -> str:
        await asyncio.sleep(0)  # the watcher begins to wait
        left.set()
        await asyncio.sleep(0)  # it ends, and its callback is due after this
        return "done"

    async def serve() -> str:
        found = await unless_client_leaves(Request({"type": "http"}, receive), work())
        await asyncio.sleep(0.01)  # as an answer is sent
        return found

    assert asyncio.run(serve()) == "done"


def test_head_is_served_wherever_get_is(client: TestClient) -> None:
    for path in ("/", "/health", "/languages", "/v2/usage", "/metrics"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    assert client.head("/translate").status_code == 405


@pytest.mark.parametrize(
    "target", ["http://elsewhere:80/health/live", "HTTPS://elsewhere/health/live", "//health//live"]
)
def test_absolute_addresses_and_doubled_slashes_are_served(settings: Settings, target: str) -> None:
    status, body = asyncio.run(ask(create_app(settings), {"path": target}))
    assert (status, body) == (200, b'{"status":"ok"}')


def test_a_slash_too_many_is_not_redirected_to_a_host_that_the_client_names(
    client: TestClient,
) -> None:
    answer = client.post("/translate/", headers={"host": "elsewhere"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "elsewhere" not in str(answer.headers)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/glossaries", 404),
        ("POST", "/v3/documents/x", 404),
        ("POST", "/v2/glossary-language-pairs", 405),
        ("OPTIONS", "/v2/translate", 400),
    ],
)
def test_errors_under_deepls_paths_have_deepls_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    preflight = {"origin": "http://page", "access-control-request-method": "PATCH"}
    answer = client.request(method, path, headers=preflight)
    assert answer.status_code == status
    assert answer.json().keys() == {"message", "detail"}
    assert answer.headers["x-trace-id"]
    if status == 404:
        assert path in answer.json()["message"]


def test_a_refused_preflight_says_why_and_an_allowed_one_is_as_ever(client: TestClient) -> None:
    asked = {"origin": "http://page", "access-control-request-method": "POST"}
    assert client.options("/translate", headers=asked).status_code == 200
    for name, value, reason in (
        ("access-control-request-method", "PATCH", "method"),
        ("access-control-request-headers", "x-secret", "headers"),
        ("access-control-request-private-network", "true", "private-network"),
    ):
        answer = client.options("/translate", headers={**asked, name: value})
        assert (answer.status_code, answer.json()["code"]) == (400, "cors_refused")
        assert reason in answer.json()["error"]
        assert answer.headers["access-control-allow-methods"] == "GET, POST"


def test_a_request_that_is_cut_off_as_the_service_stops_is_told_so(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> tuple[int, bytes]:
        task = asyncio.create_task(ask(create_app(settings), {"path": "/translate"}, 10, False))
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    status, body = asyncio.run(run())
    assert (status, json.loads(body)["code"]) == (503, "not_ready")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]

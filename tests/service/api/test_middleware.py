"""Ids, limits, and clients that go away."""

import asyncio
import time

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from service.api.dependencies import unless_client_leaves
from service.api.middleware import limits
from service.app import create_app
from service.errors import CancelledError
from service.settings import Settings


def test_every_answer_has_an_id_and_a_clients_own_is_kept(client: TestClient) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    answer = client.get("/health", headers={"x-request-id": "job-17.a"})
    assert answer.headers["x-request-id"] == "job-17.a"
    answer = client.get("/health", headers={"x-request-id": "no spaces, please"})
    assert answer.headers["x-request-id"] != "no spaces, please"


def test_a_body_over_the_limit_is_refused_announced_or_not(client: TestClient) -> None:
    announced = client.post("/translate", json={"q": "x" * 20_000})
    streamed = client.post("/translate", content=(b"x" * 1000 for _ in range(20)))
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert answer.json()["code"] == "body_too_large"
        assert "the limit is 10000" in answer.json()["error"]


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


def test_header_fields_over_the_limit_are_refused(client: TestClient) -> None:
    assert client.get("/health/live", headers={"x-long": "a" * 65_000}).status_code == 200
    answer = client.get("/health/live", headers={"x-long": "a" * 66_000})
    assert (answer.status_code, answer.json()["code"]) == (431, "headers_too_large")
    assert "the limit is 65536" in answer.json()["error"]


def test_an_address_over_the_limit_is_refused(settings: Settings) -> None:
    client = TestClient(create_app(settings.model_copy(update={"max_header_bytes": 2000})))
    assert client.get("/health/live", params={"q": "a" * 1986}).status_code == 200
    answer = client.get("/health/live", params={"q": "a" * 1987})
    assert (answer.status_code, answer.json()["code"]) == (414, "address_too_long")
    assert "has 2001 bytes, the limit is 2000" in answer.json()["error"]


def test_a_body_that_does_not_come_is_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    sent: list[Message] = []

    async def request() -> None:
        first = True

        async def receive() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": b"{", "more_body": True}
            await asyncio.sleep(10)
            raise AssertionError("it was waited for")

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/translate", "headers": []}
        await limits.BodyLimit(create_app(settings), 100)(scope, receive, send)

    asyncio.run(request())
    assert sent[0]["status"] == 408
    assert b"only 1 bytes" in sent[1]["body"]


def test_a_client_that_leaves_before_its_body_is_there_is_no_failure_of_the_service(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    arriving: list[Message] = [
        {"type": "http.request", "body": b'{"q": ', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return arriving.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/translate",
        "query_string": b"",
        "headers": [(b"content-length", b"50")],
    }
    asyncio.run(create_app(settings)(scope, receive, send))
    assert sent[0]["status"] == 400
    assert b"closed after 6 bytes" in sent[1]["body"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_too_many_requests_in_flight_are_refused_but_health_is_told() -> None:
    held = asyncio.Event()
    statuses: list[int] = []
    refused: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def run() -> None:
        limited = limits.RequestLimit(app, 2, lambda: 7.2, lambda: refused.append(1))
        post = {"type": "http", "method": "POST", "path": "/translate", "headers": []}
        tasks = [asyncio.create_task(limited(post, receive, send)) for _ in range(5)]
        tasks.append(
            asyncio.create_task(
                limited({**post, "method": "GET", "path": "/health"}, receive, send)
            )
        )
        await asyncio.sleep(0.01)
        assert statuses == [429] * 3
        held.set()
        await asyncio.gather(*tasks)
        await limited(post, receive, send)

    asyncio.run(run())
    assert statuses == [*[429] * 3, *[200] * 4]
    assert len(refused) == 3


def test_the_rest_of_a_body_that_is_too_large_is_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(10)
        raise AssertionError("it was waited for")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", b"101")]
    scope = {"type": "http", "method": "POST", "path": "/translate", "headers": headers}
    asyncio.run(limits.BodyLimit(create_app(settings), 100)(scope, receive, send))
    assert sent[0]["status"] == 413

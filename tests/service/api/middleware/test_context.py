"""Request ids, and requests that are cancelled when the service stops."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from service.api.middleware.context import RequestContext
from service.app import create_app
from service.logs import request_id
from service.metrics import Metrics
from service.settings import Settings
from tests.service.api.asgi import ask
from tests.waiting import until


def test_every_answer_has_an_id_or_the_one_given_by_the_client(client: TestClient) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    answer = client.get("/health", headers={"x-request-id": "job-17.a"})
    assert answer.headers["x-request-id"] == "job-17.a"


class Ids(logging.Handler):
    """Records the request id of every log record."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(request_id.get())


@pytest.fixture
def ids(caplog: pytest.LogCaptureFixture) -> Iterator[Ids]:
    handler, access = Ids(), logging.getLogger("service.access")
    caplog.set_level("INFO", "service.access")
    access.addHandler(handler)
    yield handler
    access.removeHandler(handler)


UNSAFE = ["a b", "a\tb", 'a"b', "a]b", "a\x1b[2K", "\u00e9", "-", "", "a" * 65, "a\x85b"]


@pytest.mark.parametrize("path", ["/health/live", "/v2/nothing"])
def test_an_id_that_could_forge_a_log_line_is_replaced(
    settings: Settings, ids: Ids, path: str
) -> None:
    client = TestClient(create_app(settings))
    for given in UNSAFE:
        answer = client.get(path, headers=[(b"x-request-id", given.encode("latin-1"))])
        identity = answer.headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", identity)
        assert answer.headers.get("x-trace-id", identity) == identity
        assert ids.seen[-1] == identity
    assert len(ids.seen) == len(UNSAFE)


def test_a_request_cut_off_at_shutdown_gets_an_error(
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


@pytest.mark.parametrize(
    ("kind", "first", "ending"),
    [
        (b"text/event-stream; charset=utf-8", b"data: 1\n\n", b"event: error\ndata: "),
        (b"text/event-stream", b"data: the first piece of a lo", b""),
        (b"application/json", b"first", b""),  # an error cannot be added to it
    ],
)
def test_a_stream_cut_off_at_shutdown_ends_with_an_error(
    kind: bytes, first: bytes, ending: bytes
) -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        await asyncio.Event().wait()

    async def take(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {"type": "http", "method": "GET", "path": "/translate", "headers": []}
        task = asyncio.create_task(RequestContext(app, Metrics())(scope, Mock(), take))
        await until(lambda: len(sent) == 2)
        task.cancel()
        with nullcontext() if ending else pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    last = sent[2:]
    assert [message["body"].startswith(ending) for message in last] == [True] * bool(ending)
    assert not any(message["more_body"] for message in last)


@pytest.mark.parametrize("waits_with", ["http.response.start", "http.response.body"])
def test_an_answer_that_its_client_does_not_read_is_cut_off_at_shutdown(waits_with: str) -> None:
    sent: list[Message] = []
    is_waiting = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        length = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"ok"})

    async def send(message: Message) -> None:
        if message["type"] == waits_with and not is_waiting.is_set():
            is_waiting.set()
            await asyncio.Event().wait()
        sent.append(message)

    async def run() -> None:
        scope = {"type": "http", "method": "GET", "path": "/translate", "headers": []}
        task = asyncio.create_task(RequestContext(app, Metrics())(scope, Mock(), send))
        await is_waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) if sent else nullcontext():
            await task

    asyncio.run(run())
    statuses = [message["status"] for message in sent if "status" in message]
    assert statuses == [503 if waits_with == "http.response.start" else 200]


def test_an_error_at_shutdown_that_its_client_does_not_read_is_counted_as_503() -> None:
    metrics, is_waiting = Metrics(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(_: Message) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    async def run() -> None:
        scope = {"type": "http", "method": "GET", "path": "/translate", "headers": []}
        task = asyncio.create_task(RequestContext(app, metrics)(scope, Mock(), send))
        for _ in range(2):  # at the end of the drain, and when the process ends
            await is_waiting.wait()
            is_waiting.clear()
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    counted = metrics.render().decode()
    assert 'attendant_requests_total{method="GET",route="unmatched",status="503"} 1.0' in counted

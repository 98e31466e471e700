"""Ids, limits, and clients that go away."""

import asyncio
import json
import time

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.dependencies import unless_client_leaves
from service.api.middleware import limits
from service.api.middleware.admission import Admission, AdmissionLimit
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


def admission_of(limit: int, waits: list[float], refused: list[int]) -> Admission:
    """An admission whose deadline is 10 s; `waits` has what is expected next."""
    return Admission(
        limit,
        10.0,
        shortest_wait=lambda: waits[-1] if waits else None,
        expected_wait=lambda: 7.2,
        on_refused=lambda: refused.append(1),
    )


def test_too_many_requests_in_flight_are_refused_but_health_is_told() -> None:
    held = asyncio.Event()
    refused: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        limited = AdmissionLimit(app, admission_of(2, [], refused), counts=True)
        early = AdmissionLimit(app, limited.admission, counts=False)
        admitted = [asyncio.create_task(ask(limited, {"path": "/translate"})) for _ in range(2)]
        await asyncio.sleep(0)
        for limit in (limited, early):
            status, body = await ask(limit, {"path": "/translate"})
            assert status == 429
            assert b"Slowdown: 2 requests are in flight, the limit is 2" in body
        probe = asyncio.create_task(ask(limited, {"path": "/health"}))
        held.set()
        assert [status for status, _ in await asyncio.gather(*admitted, probe)] == [200] * 3
        assert (await ask(limited, {"path": "/translate"}))[0] == 200

    asyncio.run(run())
    assert len(refused) == 2


def test_what_cannot_be_in_time_is_refused_before_its_body_is_read() -> None:
    waits = [7.9]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Message:
        raise AssertionError("its body was read")

    async def run() -> None:
        limited = AdmissionLimit(app, admission_of(2, waits, []), counts=False)
        assert (await ask(limited, {"path": "/v2/translate"}, receive=receive))[0] == 200
        waits.append(8.1)  # and a quarter of it is more than the deadline
        status, body = await ask(limited, {"path": "/v2/translate"}, receive=receive)
        assert status == 429
        assert b"it would take about 8.1 s, and the deadline is 10 s" in body
        assert (await ask(limited, {"path": "/languages"}, receive=receive))[0] == 200

    asyncio.run(run())


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


@pytest.mark.parametrize("place", ["form", "query"])
def test_forms_of_too_many_fields_and_of_no_text_are_refused(
    client: TestClient, place: str
) -> None:
    for sent, message in (("a&" * 4096, "has 4097 fields, the limit is 4096"), ("q=%ff", "UTF-8")):
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = (
            client.post("/translate", content=sent, headers=kind)
            if place == "form"
            else client.post(f"/translate?{sent}")
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert f"the {place} " in answer.json()["error"]
        assert message in answer.json()["error"]


def test_bodies_share_a_limit_from_their_first_byte_and_small_ones_always_find_room() -> None:
    held, large = asyncio.Event(), 40_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size = len((await receive())["body"]) + len((await receive())["body"])
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % size})

    async def run() -> None:
        limited = limits.BodyLimit(app, 50_000, total=100_000)
        first = [asyncio.create_task(ask(limited, {}, large)) for _ in range(2)]
        slow = asyncio.create_task(ask(limited, {}, large, complete=False))
        await asyncio.sleep(0.01)
        assert limited.held == 2 * large + large // 2
        small = asyncio.create_task(ask(limited, {}, 10_000))
        status, body = await ask(limited, {}, large)
        assert status == 429
        assert b"a body of 40000 bytes" in body or b"a body of 20000 bytes" in body
        assert b"over the limit of 100000" in body
        headers = [(b"content-length", b"40000")]
        assert (await ask(limited, {"headers": headers}, large))[0] == 429
        held.set()
        assert [await one for one in (*first, small)] == [(200, b"40000")] * 2 + [(200, b"10000")]
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        assert limited.held == 0

    asyncio.run(run())


def test_who_asks_before_sending_a_body_that_is_too_large_is_answered_first() -> None:
    async def receive() -> Message:
        raise AssertionError("it was told to go on")

    headers = [(b"content-length", b"101"), (b"expect", b"100-continue")]
    limited = limits.BodyLimit(create_app(Settings()), 100)
    status, _ = asyncio.run(ask(limited, {"headers": headers}, receive=receive))
    assert status == 413


def test_every_route_that_works_is_inside_the_limit_of_requests() -> None:
    held = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()

    async def run() -> None:
        limited = AdmissionLimit(app, admission_of(1, [], []), counts=True)
        first = asyncio.create_task(ask(limited, {"method": "GET", "path": "/v2/translate"}))
        await asyncio.sleep(0)
        for method, path in (("GET", "/v2/translate"), ("GET", "/languages"), ("POST", "/detect")):
            assert (await ask(limited, {"method": method, "path": path}))[0] == 429
        held.set()
        await first

    asyncio.run(run())


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


async def ask(
    app: ASGIApp,
    fields: Scope,
    size: int = 0,
    complete: bool = True,
    receive: Receive | None = None,
) -> tuple[int, bytes]:
    """Status and body of the answer to a request of `size` bytes, in two pieces or the first one."""
    pieces = [b"a" * (size // 2), b"a" * (size - size // 2)]
    sent: list[Message] = []

    async def from_pieces() -> Message:
        if len(pieces) == 1 and not complete:
            await asyncio.sleep(10)
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST" if size else "GET",
        "path": "/",
        "query_string": b"",
        "headers": [],
        **fields,
    }
    await app({**scope, "raw_path": scope["path"].encode()}, receive or from_pieces, send)
    return (sent[0]["status"], sent[1].get("body", b"")) if sent else (0, b"")

"""What is too large, too slow or too much, and what it is told."""

import asyncio

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from service.api.middleware import limits
from service.api.middleware.admission import Admission, AdmissionLimit
from service.app import create_app
from service.settings import Settings
from tests.service.api.asgi import ask


def test_a_body_over_the_limit_is_refused_announced_or_not(client: TestClient) -> None:
    announced = client.post("/translate", json={"q": "x" * 20_000})
    streamed = client.post("/translate", content=(b"x" * 1000 for _ in range(20)))
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert answer.json()["code"] == "body_too_large"
        assert "the limit is 10000" in answer.json()["error"]


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
        assert b"request bodies in memory would exceed 100000 bytes" in body
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

"""Refusal of heads and bodies that are too large or too slow."""

import asyncio

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from service.api import client_state
from service.api.client_state import ClientState
from service.api.middleware import limits
from service.app import create_app
from service.settings import Settings
from tests.service.api.asgi import ask
from tests.waiting import until


def test_a_body_over_the_limit_is_refused_with_or_without_a_length(client: TestClient) -> None:
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


def test_a_target_over_the_limit_is_refused(settings: Settings) -> None:
    client = TestClient(create_app(settings.model_copy(update={"max_header_bytes": 2000})))
    assert client.get("/health/live", params={"q": "a" * 1986}).status_code == 200
    answer = client.get("/health/live", params={"q": "a" * 1987})
    assert (answer.status_code, answer.json()["code"]) == (414, "address_too_long")
    assert "has 2001 bytes, the limit is 2000" in answer.json()["error"]


def test_a_body_that_never_arrives_times_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    limited = limits.BodyLimit(create_app(settings), 100)
    status, body = asyncio.run(ask(limited, {"path": "/translate"}, size=2, complete=False))
    assert status == 408
    assert b"only 1 bytes" in body


def test_a_disconnect_during_the_body_is_not_a_failure(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    arriving: list[Message] = [
        {"type": "http.request", "body": b'{"q": ', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return arriving.pop(0)

    headers = [(b"content-length", b"50")]
    fields = {"method": "POST", "path": "/translate", "headers": headers}
    status, body = asyncio.run(ask(create_app(settings), fields, receive=receive))
    assert status == 499
    assert b"after 6 bytes" in body
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_rest_of_a_body_that_is_too_large_is_not_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)

    async def receive() -> Message:
        await asyncio.sleep(10)
        raise AssertionError("it was waited for")

    fields = {
        "method": "POST",
        "path": "/translate",
        "headers": [(b"content-length", b"101")],
    }
    limited = limits.BodyLimit(create_app(settings), 100)
    assert asyncio.run(ask(limited, fields, receive=receive))[0] == 413


def test_bodies_share_a_limit_except_small_ones() -> None:
    held, large = asyncio.Event(), 40_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size = len((await receive())["body"])
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % size})

    async def run() -> None:
        limited = limits.BodyLimit(app, 50_000, total=100_000)
        first = [asyncio.create_task(ask(limited, {}, large)) for _ in range(2)]
        slow = asyncio.create_task(ask(limited, {}, large, complete=False))
        await until(lambda: limited.held == 2 * large + large // 2)
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


def test_bodies_that_stand_still_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SAFE_SECONDS", 0.05)
    large = 40_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size = len((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % size})

    async def run() -> None:
        limited = limits.BodyLimit(app, 50_000, total=100_000)
        still = [
            asyncio.create_task(ask(limited, {}, large, complete=False)) for _ in range(5)
        ]  # half of each arrives
        await until(lambda: limited.held == 5 * large // 2)
        assert (await ask(limited, {}, large))[0] == 429, "they may still arrive"
        await asyncio.sleep(0.06)
        assert await ask(limited, {}, large) == (200, b"40000")
        status, body = await still[0]
        assert status == 408
        assert b"only 20000 bytes of the body arrived" in body
        assert [one.done() for one in still] == [True, True, False, False, False]
        for one in still:
            one.cancel()
        await asyncio.gather(*still, return_exceptions=True)
        assert limited.held == 0

    asyncio.run(run())


def test_room_is_made_in_the_turn_in_which_the_time_of_another_body_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SAFE_SECONDS", 0.0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        limited = limits.BodyLimit(app, 50_000, total=50_000)
        slow = asyncio.create_task(ask(limited, {}, 40_000, complete=False))
        await until(lambda: limited.held == 20_000)
        [limit] = limited._arriving.values()
        limit._on_timeout()  # type: ignore[attr-defined]
        assert (await ask(limited, {}, 40_000))[0] == 200
        assert (await slow)[0] == 408
        assert limited.held == 0

    asyncio.run(run())


def test_a_body_that_is_refused_no_longer_counts_while_its_answer_is_sent() -> None:
    held: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"a" * 40_000, "more_body": True}

    async def send(message: Message) -> None:
        held.append(limited.held)

    async def unused(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it was called")

    limited = limits.BodyLimit(unused, 50_000)
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    asyncio.run(limited(scope, receive, send))
    assert held == [0, 0]


@pytest.mark.parametrize("leaves", [False, True])
def test_a_complete_body_that_waits_for_its_turn_is_not_slow(
    monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)
    monkeypatch.setattr(limits, "SAFE_SECONDS", 0.0)
    begun: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        may_begin = asyncio.Event()

        async def turn(_: ClientState) -> float:
            await may_begin.wait()
            return 1.5

        limited = limits.BodyLimit(app, 50_000, total=60_000)
        client = ClientState(turn)
        waiting = asyncio.create_task(ask(limited, {client_state.KEY: client}, 40_000))
        await until(lambda: limited.held == 40_000)
        assert (await ask(limited, {}, 40_000))[0] == 429, "there is no room"
        await asyncio.sleep(0.1)
        assert not begun
        if leaves:
            client.leave()
        may_begin.set()
        assert (await waiting)[0] == (499 if leaves else 200)
        assert client.seconds_in_line == 1.5
        assert len(begun) == (not leaves)

    asyncio.run(run())


def test_expect_continue_with_a_body_that_is_too_large_is_refused_at_once() -> None:
    async def receive() -> Message:
        raise AssertionError("it was told to go on")

    headers = [(b"content-length", b"101"), (b"expect", b"100-continue")]
    limited = limits.BodyLimit(create_app(Settings()), 100)
    status, _ = asyncio.run(ask(limited, {"headers": headers}, receive=receive))
    assert status == 413


def test_a_parsed_body_no_longer_counts() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert len((await receive())["body"]) == limited.held == 40_000
        limits.release(scope)
        assert limited.held == 0
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    limited = limits.BodyLimit(app, 50_000)
    assert asyncio.run(ask(limited, {}, 40_000))[0] == 200
    assert limited.held == 0


def test_a_body_that_never_fits_is_refused_as_too_large() -> None:
    limited = limits.BodyLimit(create_app(Settings()), 50_000, total=30_000)
    status, body = asyncio.run(ask(limited, {}, 40_000))
    assert status == 413
    assert b"the limit is 30000" in body


def test_a_body_that_no_route_reads_no_longer_counts_once_the_answer_begins() -> None:
    held: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        held.append(limited.held)
        await send({"type": "http.response.start", "status": 404, "headers": []})
        held.append(limited.held)
        await send({"type": "http.response.body", "body": b""})

    limited = limits.BodyLimit(app, 50_000)
    assert asyncio.run(ask(limited, {}, 40_000))[0] == 404
    assert held == [40_000, 0]

"""Refusal of requests if too many are in flight or the deadline cannot be met."""

import asyncio

from starlette.types import Message, Receive, Scope, Send

from service.api.middleware.admission import Admission, AdmissionCheck, InFlightLimit
from tests.service.api.asgi import ask


def admission_of(limit: int, waits: list[float]) -> Admission:
    """Return an admission with a deadline of 10 s; the last item of `waits` is the shortest wait."""
    return Admission(
        limit,
        10.0,
        shortest_wait=lambda: waits[-1] if waits else None,
        expected_wait=lambda: 7.2,
    )


def test_too_many_concurrent_requests_are_refused_but_health_is_answered() -> None:
    held = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        limited = InFlightLimit(app, admission_of(2, []))
        early = AdmissionCheck(app, limited.admission)
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


def test_hopeless_requests_are_refused_before_their_body_is_read() -> None:
    waits = [9.9]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Message:
        raise AssertionError("its body was read")

    async def run() -> None:
        limited = AdmissionCheck(app, admission_of(2, waits))
        assert (await ask(limited, {"path": "/v2/translate"}, receive=receive))[0] == 200
        waits.append(10.1)
        status, body = await ask(limited, {"path": "/v2/translate"}, receive=receive)
        assert status == 429
        assert b"it may take 10.1 s, and the deadline is 10 s" in body
        assert (await ask(limited, {"path": "/languages"}, receive=receive))[0] == 200

    asyncio.run(run())


def test_retry_after_is_at_most_the_longest_deadline() -> None:
    admission = Admission(0, 10.0, shortest_wait=lambda: None, expected_wait=lambda: 3201.0)
    refusal = admission.refusal("/translate")
    assert refusal is not None
    assert refusal.headers["retry-after"] == "10"


def test_the_limit_of_requests_applies_to_every_route_that_translates() -> None:
    held = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()

    async def run() -> None:
        limited = InFlightLimit(app, admission_of(1, []))
        first = asyncio.create_task(ask(limited, {"method": "GET", "path": "/v2/translate"}))
        await asyncio.sleep(0)
        for method, path in (("GET", "/v2/translate"), ("GET", "/languages"), ("POST", "/detect")):
            assert (await ask(limited, {"method": method, "path": path}))[0] == 429
        held.set()
        await first

    asyncio.run(run())


def test_an_unread_answer_does_not_occupy_a_place() -> None:
    unread = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        length = [(b"content-length", b"2")] if scope["path"] == "/ready" else []
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"ok"})

    async def slowly(message: Message) -> None:
        await unread.wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def run() -> None:
        limited = InFlightLimit(app, admission_of(1, []))
        for path, in_flight in (("/ready", 0), ("/stream", 1)):
            scope = {"type": "http", "method": "GET", "path": path, "headers": []}
            task = asyncio.create_task(limited(scope, receive, slowly))
            await asyncio.sleep(0)
            assert limited.admission.in_flight == in_flight
            unread.set()
            await task
            unread.clear()
            assert limited.admission.in_flight == 0

    asyncio.run(run())

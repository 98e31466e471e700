"""Answers as they are written, read back by h11, which finds the end of each by the standard."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import h11
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.connection import Connection
from service.api.connections import Connections
from service.api.errors import install
from service.api.exchange import Exchange, scope_of, start_of
from service.api.head import Head


class Told:
    """A connection that only records what is written."""

    def __init__(self) -> None:
        self.server_state = SimpleNamespace(default_headers=[(b"date", b"today")])
        self.written, self.all = list[bytes](), Connections()
        self.is_closed = self.is_answered = False
        self.writable = asyncio.Event()
        self.writable.set()
        self.transport = SimpleNamespace(
            write=self.written.append,
            close=self.close,
            is_closing=lambda: self.is_closed,
            begin_answer=lambda: None,
        )

    def close(self) -> None:
        self.is_closed = True

    def answered(self) -> None:
        self.is_answered = True

    def read_on(self) -> None:
        """Do nothing: there is nothing to read."""


def answered_by(app: ASGIApp, request: bytes) -> tuple[Told, Exchange]:
    """Have `app` answer a request without a body; return the connection and the exchange."""

    async def run() -> tuple[Told, Exchange]:
        told, head = Told(), Head(request)
        exchange = Exchange(cast(Connection, told), head, {"type": "http", **scope_of(head)})
        exchange.take(bytearray())
        await exchange.run(app)
        return told, exchange

    return asyncio.run(run())


def answering(
    status: int, fields: Sequence[tuple[bytes, bytes]], *pieces: bytes
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Return an application that sends this answer."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": fields})
        for at, piece in enumerate(pieces, 1):
            more = at < len(pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": more})

    return app


def read_by_h11(request: bytes, written: bytes) -> tuple[h11.Response, bytes, bool]:
    """Return the head and body of an answer, and whether its connection stays open."""
    client, method = h11.Connection(h11.CLIENT), request.split()[0]
    client.send(h11.Request(method=method, target=b"/", headers=[(b"host", b"here")]))
    client.send(h11.EndOfMessage())
    client.receive_data(written)
    response, body = client.next_event(), b""
    assert isinstance(response, h11.Response)
    while isinstance(event := client.next_event(), h11.Data):
        body += bytes(event.data)
    if event is h11.NEED_DATA:  # the body ends when the connection is closed
        client.receive_data(b"")
        event = client.next_event()
    assert isinstance(event, h11.EndOfMessage)
    assert client.trailing_data[0] == b""
    return response, body, client.their_state is h11.DONE


GET, HEAD_ = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n", b"HEAD / HTTP/1.1\r\nhost: here\r\n\r\n"
OLD, CLOSE = b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
SIX = [(b"content-length", b"6")]


@pytest.mark.parametrize("request_", [GET, HEAD_, OLD, CLOSE])
@pytest.mark.parametrize(
    ("status", "fields", "pieces"),
    [
        (200, SIX, [b"texts."]),
        (200, SIX, [b"te", b"", b"xts."]),
        (200, [], [b"te", b"", b"xts."]),
        (429, [(b"content-length", b"0")], [b""]),
        (204, [], [b""]),
        (304, [], [b""]),
    ],
)
def test_every_answer_has_a_recognisable_end(
    request_: bytes, status: int, fields: list[tuple[bytes, bytes]], pieces: list[bytes]
) -> None:
    told, exchange = answered_by(answering(status, fields, *pieces), request_)
    assert told.is_answered
    response, body, goes_on = read_by_h11(request_, b"".join(told.written))
    assert (response.status_code, dict(response.headers)[b"date"]) == (status, b"today")
    assert body == (b"" if request_ is HEAD_ else b"".join(pieces))
    assert goes_on == (request_ in (GET, HEAD_))
    assert exchange.is_last == (not goes_on)


def test_the_head_of_an_answer_is_sent_with_the_first_body_bytes() -> None:
    told, _ = answered_by(answering(200, SIX, b"texts."), GET)
    assert len(told.written) == 1


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Return without an answer."""


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise ValueError("a secret")


async def untimely(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.body", "body": b"text"})


@pytest.mark.parametrize(
    "app",
    [
        silent,
        failing,
        untimely,
        answering(200, [(b"x-id", b"a\r\nset-cookie: b")], b"text"),
        answering(200, [(b"x-id", b"a\nb")], b"text"),
        answering(200, [(b"x\rid", b"a")], b"text"),
    ],
)
def test_an_application_without_an_answer_causes_a_500(
    app: ASGIApp, caplog: pytest.LogCaptureFixture
) -> None:
    told, exchange = answered_by(app, GET)
    response, body, goes_on = read_by_h11(GET, b"".join(told.written))
    assert (response.status_code, goes_on, exchange.is_last) == (500, False, True)
    assert body == b'{"error":"internal error","code":"internal_error"}'
    assert caplog.text.count("unexpected error") == 1


def test_an_error_that_the_framework_answers_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = FastAPI()
    install(app)
    app.add_api_route("/", failing_route)
    told, _ = answered_by(app, GET)
    assert b"".join(told.written).startswith(b"HTTP/1.1 500")
    assert [record.getMessage() for record in caplog.records] == ["unexpected error"]


async def failing_route() -> None:
    raise ValueError("a secret")


@pytest.mark.parametrize("pieces", [[b"text"], [b"texts.."], [b"te", b"xt"], [b"te", b"xts.."]])
def test_an_answer_of_a_wrong_length_ends_the_connection(
    pieces: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    told, _ = answered_by(answering(200, SIX, *pieces), GET)
    assert told.is_closed
    assert not told.is_answered
    assert b"".join(told.written).count(b"HTTP/1.1") <= 1
    assert "another length" in caplog.text


def test_an_unknown_status_is_a_failure() -> None:
    with pytest.raises(KeyError):
        start_of(299, [])


def test_receive_returns_a_disconnect_for_an_incomplete_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    received: list[Message] = []

    async def run() -> list[Any]:
        told = Told()
        head = Head(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\n")
        exchange = Exchange(cast(Connection, told), head, {"type": "http", "path": "/"})
        exchange.take(bytearray(b"ab"))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async with asyncio.timeout(5):
                received.extend([await receive(), await receive(), await receive()])

        task = asyncio.create_task(exchange.run(app))
        await asyncio.sleep(0)
        exchange.cut()
        await task
        return told.written

    assert asyncio.run(run()) == []
    assert received == [
        {"type": "http.request", "body": b"ab", "more_body": True},
        *2 * [{"type": "http.disconnect"}],
    ]
    assert not caplog.records


def test_a_connection_is_closed_if_even_the_error_cannot_be_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    async def fail(exchange: Exchange) -> None:
        closed.append(exchange.connection)
        raise MemoryError

    monkeypatch.setattr(Exchange, "_fail", fail)
    with pytest.raises(MemoryError):
        answered_by(failing, GET)
    assert cast(Told, closed[0]).is_closed

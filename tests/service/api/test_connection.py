"""Connections whose requests never end, or are none: what they get, and when they are closed."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from service.api import connection

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]
HEAD = b"GET / HTTP/1.1\r\nhost: here\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers everything with its body and "ok", in its own time."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await asyncio.sleep(0.3 if scope["path"] == "/slow" else 0)
    fields = [(b"content-length", b"%d" % (len(body) + 2))]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": body + b"ok"})


def talk(conversation: Callable[[Connect], Awaitable[None]]) -> None:
    """Hold a conversation with a server, of which it can open connections."""

    async def serve() -> None:
        config = uvicorn.Config(
            app,
            port=0,
            http=connection.Connection,
            lifespan="off",
            log_config=None,
            timeout_keep_alive=1,
            h11_max_incomplete_event_size=5000,
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        address = server.servers[0].sockets[0].getsockname()
        writers: list[asyncio.StreamWriter] = []

        async def connect() -> Streams:
            reader, writer = await asyncio.open_connection(*address)
            writers.append(writer)
            return reader, writer

        try:
            await asyncio.wait_for(conversation(connect), 20)
        finally:
            for writer in writers:
                writer.close()
            server.should_exit = True
            await serving

    asyncio.run(serve())


async def refusal(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, str]]:
    """The status and the error of an answer after which the server has closed the connection."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return head.split()[1], json.loads(body)


@pytest.mark.parametrize("sent", [b"GET / HT", HEAD, HEAD + b"x-much: aaa"])
def test_a_head_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for part in (sent[:4], sent[4:6], sent[6:]):  # whoever sends a little now and then, neither
            writer.write(part)
            await asyncio.sleep(0.05)
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"408", "head_too_slow")
        assert "after 0.2 s" in error["error"]

    talk(conversation)


def test_the_clock_of_a_head_does_not_run_for_answers_and_between_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for path in (b"/slow", b"/", b"/slow"):
            head = HEAD.replace(b" / ", b" %s " % path)
            writer.write(head[:5])
            await asyncio.sleep(0.02)
            writer.write(head[5:] + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.2)

    talk(conversation)


def test_a_connection_on_which_nothing_is_sent_is_closed() -> None:
    async def conversation(connect: Connect) -> None:
        reader, _ = await connect()
        assert await reader.read() == b""

    talk(conversation)


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n", b"GET /\r\n\r\n", HEAD + b"a: " + b"b" * 6000]
)
def test_what_is_no_request_is_told_in_the_shape_of_all_errors(sent: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")
        assert "more than 5000 bytes" in error["error"]

    talk(conversation)


def test_an_offer_to_upgrade_is_not_taken_and_costs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAA\r\n"

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for fields in (offer, b"", offer):
            writer.write(
                b"POST / HTTP/1.1\r\nhost: here\r\n" + fields + b"content-length: 4\r\n\r\n"
            )
            await asyncio.sleep(0.02)
            writer.write(b"text")
            answer = await reader.readuntil(b"ok")
            assert answer.startswith(b"HTTP/1.1 200")
            assert answer.endswith(b"\r\n\r\ntextok")

    talk(conversation)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_body_that_breaks_off_into_nonsense_ends_the_connection() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"2\r\nab\r\nno number\r\n")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation)

"""Time limits of a connection: for heads, for clients that do not read, and for the rest of a request."""

import asyncio
from contextlib import suppress

import pytest

from service.api import connection, transport, unread
from service.api.connections import Connections
from tests.service.api.conversation import (
    HEAD,
    PIECE,
    POST,
    SLOW_SECONDS,
    Connect,
    left,
    refusal,
    talk,
)
from tests.waiting import until


@pytest.mark.parametrize("sent", [b"GET / HT", HEAD, HEAD + b"x-much: aaa"])
def test_an_incomplete_head_times_out(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for part in (sent[:4], sent[4:6], sent[6:]):  # nor does it help to send a little at a time
            writer.write(part)
            await asyncio.sleep(0.05)
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"408", "head_too_slow")
        assert "after 0.2 s" in error["error"]

    talk(conversation)


def test_an_incomplete_head_after_a_request_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n" + HEAD)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        status, error = await asyncio.wait_for(refusal(reader), 60)
        assert (status, error["code"]) == (b"408", "head_too_slow")

    talk(conversation, keep_alive_seconds=60)


def test_the_timeout_of_heads_excludes_answers_and_idle_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.8 * SLOW_SECONDS)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for path in (b"/slow", b"/", b"/"):
            head = HEAD.replace(b" / ", b" %s " % path)
            writer.write(head[:5])
            await asyncio.sleep(0.02)
            writer.write(head[5:] + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(SLOW_SECONDS)

    talk(conversation, keep_alive_seconds=5)


def test_a_connection_without_requests_is_closed() -> None:
    async def conversation(connect: Connect) -> None:
        reader, _ = await connect()
        assert await reader.read() == b""

    talk(conversation)


def test_an_unread_answer_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "WRITE_SECONDS", 0.2)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /endless ") + b"\r\n")
        await until(lambda: left == ["/endless"])  # once the client's buffers are full
        with pytest.raises(ConnectionResetError):  # the kernel sends the rest no more
            await reader.read()

    talk(conversation)


def test_beyond_the_limit_for_all_unread_answers_one_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unread, "PATIENCE_SECONDS", 0.1)

    async def conversation(connect: Connect) -> None:
        readers = []
        for _ in range(2):
            reader, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /endless ") + b"\r\n")
            readers.append(reader)
        await until(lambda: left == ["/endless"])
        assert connections.unread.num_cut == 1

    connections = Connections(max_unread_bytes=1)
    talk(conversation, connections)


def test_reading_slowly_does_not_extend_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "WRITE_SECONDS", 0.3)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /endless ") + b"\r\n")
        for _ in range(40):
            await asyncio.sleep(0.05)
            await reader.read(2_000_000)
            if left:
                return
        raise AssertionError("it was written to for as long as it read")

    talk(conversation)


def test_the_rest_of_a_request_after_an_early_answer_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "LINGER_SECONDS", 0.3)
    monkeypatch.setattr(transport, "LINGER_BYTES", 300_000)
    hasty = POST.replace(b" / ", b" /hasty ")

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()  # one that ends in time: the connection stays open
        for _ in range(2):
            writer.write(hasty + b"content-length: 200000\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.write(b"a" * 200_000)
        await asyncio.sleep(0.5)
        writer.write(HEAD + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

        reader, writer = await connect()  # a byte at a time
        writer.write(hasty + b"content-length: 200000\r\n\r\n")
        await reader.readuntil(b"ok")
        with suppress(ConnectionError):
            for _ in range(10):
                await asyncio.sleep(0.05)
                writer.write(b"a")
                await writer.drain()
            assert await asyncio.wait_for(reader.read(), 5) == b""

        reader, writer = await connect()  # as fast as possible
        writer.write(hasty + b"content-length: 90000000\r\n\r\n")
        await reader.readuntil(b"ok")
        with suppress(ConnectionError):
            for _ in range(900):
                writer.write(PIECE)
                await writer.drain()
            raise AssertionError("90 MB were taken in")

    talk(conversation)


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", HEAD + b"a:\r\n" * 300 + b"\r\n"])
def test_a_refused_connection_frees_its_place_even_if_data_still_arrives(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(transport, "LINGER_SECONDS", 0.3)
    connections = Connections()

    async def conversation(connect: Connect) -> None:
        streams = [await connect() for _ in range(5)]
        for reader, writer in streams:
            writer.write(sent)
            await refusal(reader)
        for _ in range(20):
            for _, writer in streams:
                writer.write(b"x")
            await asyncio.sleep(0.05)
            if not len(connections):
                return
        raise AssertionError("they are still there")

    talk(conversation, connections)


def test_a_closed_connection_leaves_no_timer_behind() -> None:
    running: list[asyncio.TimerHandle] = []
    ended: list[float] = []

    async def conversation(connect: Connect) -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def watched(seconds: float, work: object, *given: object) -> asyncio.TimerHandle:
            running.append(call_later(seconds, work, *given))  # type: ignore[arg-type]
            return running[-1]

        loop.call_later = watched  # type: ignore[method-assign, assignment]
        for sent in (
            b"",
            b"GET",
            HEAD + b"\r\n",
            POST + b"content-length: 5\r\n\r\na",
            b"x\r\n\r\n",
        ):
            _, writer = await connect()
            writer.write(sent)
            await asyncio.sleep(0.05)
            writer.transport.abort()
        await asyncio.sleep(0.2)
        ended.append(loop.time())
        loop.call_later = call_later  # type: ignore[method-assign]

    talk(conversation, keep_alive_seconds=60)
    assert len(running) >= 5
    soon = 5.0  # timers that are due by then have run
    assert not [one for one in running if one.when() > ended[0] + soon and not one.cancelled()]

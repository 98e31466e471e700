"""Requests on a connection are answered in order, whatever arrives with them and whoever closes first."""

import asyncio

import pytest

from service.api import connection, half_closed
from service.api.connections import Connections
from tests.service.api.conversation import HEAD, POST, Connect, left, may_answer, refusal, talk
from tests.waiting import until


def test_an_upgrade_header_is_ignored(
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


def test_a_chunked_body_of_ordinary_chunks_and_a_head_of_many_fields_are_served() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for _ in range(2):  # chunks and fields are counted per request
            writer.write(POST + b"a: b\r\n" * 200 + b"transfer-encoding: chunked\r\n\r\n")
            writer.write(b"1\r\na\r\n" * 3000 + b"0\r\n\r\n")
            assert (await reader.readuntil(b"ok")).count(b"a") >= 3000

    talk(conversation)


def test_a_half_closed_client_gets_its_answer() -> None:
    async def conversation(connect: Connect) -> None:
        for version in (b"1.1", b"1.0"):
            reader, writer = await connect()
            writer.write(b"GET /patient HTTP/%s\r\nhost: here\r\n\r\n" % version)
            await asyncio.sleep(0.05)
            writer.write_eof()
            await asyncio.sleep(4 * half_closed.QUIET_SECONDS)
            may_answer().set()
            answer = await reader.read()
            assert answer.endswith(b"ok")
            assert answer.count(b"100 Continue") == (version == b"1.1")
            may_answer().clear()
        assert not left

    talk(conversation)


def test_a_fast_answer_has_no_interim_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(half_closed, "QUIET_SECONDS", 60)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /slow ") + b"\r\n")
        await asyncio.sleep(0.05)
        writer.write_eof()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"ok")

    talk(conversation)


@pytest.mark.parametrize("pieces", [1, 2])
def test_all_requests_of_a_half_closed_client_are_answered(pieces: int) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        post = POST + b"content-length: 2\r\n\r\nhi"
        sent = HEAD.replace(b" / ", b" /slow ") + b"\r\n" + post + b"\r\n" + HEAD + b"\r\n"
        for at in range(pieces):
            writer.write(sent[at * len(sent) // pieces : (at + 1) * len(sent) // pieces])
            await asyncio.sleep(0.02)
        writer.write_eof()
        answer = await reader.read()
        assert answer.count(b"HTTP/1.1 200") == 3
        assert answer.count(b"hiok") == 1

        reader, writer = await connect()  # an incomplete request is refused, in order
        writer.write(HEAD + b"\r\n" + POST + b"content-length: 5\r\n\r\nhi")
        writer.write_eof()
        status, error = (await reader.readuntil(b"ok"))[9:12], await refusal(reader)
        assert (status, error[0], error[1]["code"]) == (b"200", b"400", "request_incomplete")

    talk(conversation)


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_disconnected_client_is_detected(pause: float) -> None:
    async def conversation(connect: Connect) -> None:
        for _ in range(5):
            _, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
            await writer.drain()
            await asyncio.sleep(pause)
            writer.close()
        await until(lambda: left == ["/patient"] * 5)

    talk(conversation)


def test_a_disconnect_after_a_half_close_is_detected() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
        writer.write_eof()
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await asyncio.sleep(2 * half_closed.PROBE_SECONDS[-1])  # it has been probed several times
        writer.close()
        try:
            await until(lambda: left == ["/patient"])
        finally:  # otherwise a server that has not noticed would wait forever
            may_answer().set()

    talk(conversation)


@pytest.mark.parametrize(
    "head",
    [
        b"POST /hasty HTTP/1.0\r\nhost: here\r\n",
        b"POST /hasty HTTP/1.1\r\nhost: here\r\nconnection: close\r\n",
    ],
)
def test_an_early_answer_arrives_before_the_connection_ends(head: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        for _ in range(5):
            reader, writer = await connect()
            writer.write(head + b"content-length: 2000000\r\n\r\n" + b"a" * 2_000_000)
            await writer.drain()
            assert (await reader.read()).endswith(b"ok")

    talk(conversation)


def test_empty_lines_before_a_request_are_ignored() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for lines in (b"\r\n", b"\r\n\r\n", b""):
            writer.write(lines)
            await asyncio.sleep(0.02)
            writer.write(lines + HEAD + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation)


@pytest.mark.parametrize("size", [100, connection.HELD_BYTES + 1, 1_000_000])
def test_a_request_after_an_unread_body_is_served(size: int) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        hasty = POST.replace(b" / ", b" /hasty ") + b"content-length: %d\r\n\r\n" % size
        writer.write(hasty + b"a" * size + POST + b"content-length: 4\r\n\r\nmore")
        await reader.readuntil(b"ok")
        assert (await reader.readuntil(b"moreok")).startswith(b"HTTP/1.1 200")

    talk(conversation)


CHUNKS = b"2\r\nab\r\n0\r\n\r\n"
AFTER = POST + b"x: GET /hasty HTTP/1.1\r\ncontent-length: 4\r\n\r\nmore"


@pytest.mark.parametrize(
    "cut", [0, 3, len(CHUNKS), len(CHUNKS) + len(POST) + 3, len(CHUNKS + AFTER)]
)
@pytest.mark.parametrize(("path", "first"), [(b" / ", b"abok"), (b" /hasty ", b"ok")])
def test_a_request_after_a_chunked_body_may_arrive_in_any_pieces(
    path: bytes, first: bytes, cut: int
) -> None:
    head = POST.replace(b" / ", path) + b"transfer-encoding: chunked\r\n\r\n"

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(head)
        if path == b" /hasty ":  # like a refusal: answered before the body has arrived
            await reader.readuntil(first)
        writer.write((CHUNKS + AFTER)[:cut])
        await asyncio.sleep(0.02)
        writer.write((CHUNKS + AFTER)[cut:])
        if path == b" / ":
            await reader.readuntil(first)
        assert (await reader.readuntil(b"moreok")).startswith(b"HTTP/1.1 200")

    talk(conversation)


def test_pipelined_requests_are_answered_in_order() -> None:
    class Counting(Connections):
        """Records the largest number of bytes that a connection holds."""

        most = 0

        def changed(self, one: connection.Connection) -> None:
            super().changed(one)
            self.most = max(self.most, len(one._buffer))

    connections = Counting()
    sent = HEAD.replace(b" / ", b" /slow ") + b"\r\n" + (HEAD + b"\r\n") * 50_000

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        await reader.readuntil(b"ok")
        writer.transport.abort()

    talk(conversation, connections)
    read_at_once = 256 * 1024  # asyncio's buffer
    assert 0 < connections.most <= connection.HELD_BYTES + read_at_once < len(sent)


@pytest.mark.parametrize(("version", "told"), [(b"1.1", True), (b"1.0", False)])
def test_expect_continue_is_answered_except_in_http_1_0(version: bytes, told: bool) -> None:
    head = b"POST / HTTP/%b\r\nhost: here\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(head % version)
        if told:
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        else:
            await asyncio.sleep(0.05)
        writer.write(b"text")
        assert (await reader.readuntil(b"textok")).startswith(b"HTTP/1.1 200")
        (
            reader,
            writer,
        ) = await connect()  # the client may or may not send its body, so the connection ends
        writer.write((head % version).replace(b" / ", b" /hasty "))
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer

    talk(conversation)

"""Refusals by a connection: of invalid, oversized and incomplete requests."""

import asyncio
import socket

import pytest
from starlette.responses import Response
from starlette.types import Scope

from tests.service.api.conversation import HEAD, POST, Connect, refusal, talk


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n", b"GET /\r\n\r\n"])
def test_an_invalid_request_gets_an_error_in_the_usual_shape(sent: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")

    talk(conversation)


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (HEAD + b"a: " + b"b" * 6000, b"431", "headers_too_large"),
        (b"GET /" + b"a" * 6000, b"414", "address_too_long"),
        (b"GET /" + b"a" * 6000 + b" HTTP/1.1\r\nhost: here", b"414", "address_too_long"),
    ],
)
def test_a_head_that_is_too_large_is_refused_with_the_reason(
    sent: bytes, end: bytes, status: bytes, code: str
) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent + end)
        found, error = await refusal(reader)
        assert (found, error["code"]) == (status, code)
        assert "address and header fields have more than 5000 bytes" in error["error"]

    talk(conversation)


def test_an_invalid_chunk_ends_the_connection() -> None:
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


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (HEAD + b"a:\r\n" * 300 + b"\r\n", b"431", "headers_too_large"),
        (HEAD + b"a:\r\n" * 300, b"431", "headers_too_large"),
        (
            POST + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 5000,
            b"400",
            "too_many_chunks",
        ),
    ],
)
def test_too_many_fields_or_chunks_are_refused(sent: bytes, status: bytes, code: str) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        writer.write(b"b" * 100_000)  # unread bytes must not reset the connection
        await writer.drain()
        found, error = await refusal(reader)
        assert (found, error["code"]) == (status, code)
        assert "more than" in error["error"]

    talk(conversation)


def test_an_error_within_a_request_has_its_id() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        chunks = b"transfer-encoding: chunked\r\n\r\nzz\r\n"
        writer.write(POST + b"x-request-id: job-17\r\n" + chunks)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.lower().count(b"\r\nx-request-id: job-17\r\n") == 1

    talk(conversation)


def test_a_length_with_chunks_is_refused_and_ends_the_connection() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        chunks = b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        writer.write(POST + chunks + HEAD + b"\r\n")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")

    talk(conversation)


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (b" HTTP/1.1\r\n\r\n", b"400"),  # no host
        (b" HTTP/1.1\r\nhost: here\r\n" + b"a:\r\n" * 300, b"431"),
        (b" HTTP/1.1\r\na: " + b"b" * 6000, b"431"),
        (b"?text=" + b"a" * 6000, b"414"),
    ],
)
def test_errors_in_a_head_have_the_shape_of_its_paths_dialect(rest: bytes, status: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        for path, shape in (
            (b"/v2/translate", {"message", "detail"}),
            (b"/translate", {"error", "code"}),
        ):
            reader, writer = await connect()  # an earlier request has another path
            writer.write(HEAD.replace(b" / ", b" /v2/usage ") + b"\r\n")
            await reader.readuntil(b"ok")
            writer.write(b"POST ")
            await asyncio.sleep(0.02)
            writer.write(path + rest)
            found, error = await refusal(reader)
            assert (found, set(error)) == (status, shape)

    talk(conversation)


@pytest.mark.parametrize("sent", [HEAD, POST + b"content-length: 5\r\n\r\nabc"])
def test_an_incomplete_request_gets_an_error(sent: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        writer.write_eof()
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "request_incomplete")

    talk(conversation)


@pytest.mark.parametrize(
    "rest",
    [
        b"content-length: 5\r\n\r\nabc",
        b"content-length: x\r\n\r\n",
        b"host: there\r\n\r\n",
        b"a: b",
    ],
)
def test_an_error_to_head_has_no_body(rest: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(POST.replace(b"POST", b"HEAD") + rest)
        writer.write_eof()
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert (head[9:12], body) == (b"400", b"")

    talk(conversation)


def test_an_error_waits_for_the_answers_before_it() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /slow ") + b"\r\nnonsense\r\n\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")

    talk(conversation)


class Refusing:
    """An early refusal of every path but one."""

    num_refused = 0

    def refusal(self, scope: Scope, _: object = None) -> Response | None:
        if scope["path"] == "/":
            return None
        self.num_refused += 1
        return Response("no", 429)

    def note(self, response: Response, path: str) -> None:
        response.headers["x-noted"] = "yes"


REFUSED = POST.replace(b" / ", b" /translate ") + b"content-length: 5\r\n\r\n"


def test_early_refusals_keep_the_connection_open() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write((REFUSED + b"hello") * 3_000)  # more than the interpreter's stack could hold
        for _ in range(3_000):
            assert (await reader.readuntil(b"\r\n\r\nno")).startswith(b"HTTP/1.1 429")
        writer.write(REFUSED)  # its body arrives after the refusal
        assert (await reader.readuntil(b"\r\n\r\nno")).startswith(b"HTTP/1.1 429")
        writer.write(b"hello" + HEAD + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.write(b"nonsense\r\n\r\n")
        assert b"x-noted: yes" in await reader.read()

    talk(conversation, early_refusal=Refusing())  # type: ignore[arg-type]


def test_pipelined_refusals_do_not_block_the_event_loop() -> None:
    refusing = Refusing()

    async def conversation(connect: Connect) -> None:
        (reader, writer), (_, flood) = await connect(), await connect()
        writer.write(HEAD + b"\r\n")  # so that the server has accepted the connection
        await reader.readuntil(b"ok")
        flood.write((REFUSED + b"hello") * 3_000)
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"ok")
        assert refusing.num_refused < 100

    talk(conversation, early_refusal=refusing)  # type: ignore[arg-type]


def test_refusals_stop_for_a_client_that_does_not_read() -> None:
    refusing = Refusing()
    many = 300_000  # more than a socket's buffers can hold answers to

    async def conversation(connect: Connect) -> None:
        _, writer = await connect()
        loop, before = asyncio.get_running_loop(), -1
        with socket.create_connection(writer.get_extra_info("peername")) as silent:
            silent.setblocking(False)
            sending = loop.create_task(loop.sock_sendall(silent, (REFUSED + b"hello") * many))
            while refusing.num_refused != before:
                before = refusing.num_refused
                await asyncio.sleep(0.2)
            sending.cancel()
        assert 0 < refusing.num_refused < many

    talk(conversation, early_refusal=refusing)  # type: ignore[arg-type]

"""Connections whose requests never end, or are none: what they get, and when they are closed."""

import asyncio
from contextlib import suppress

import pytest
from starlette.responses import Response
from starlette.types import Scope

from service.api import connection, transport
from service.api.connections import Connections
from tests.service.api.conversation import (
    HEAD,
    PIECE,
    POST,
    SLOW_SECONDS,
    Connect,
    left,
    may_answer,
    refusal,
    talk,
)
from tests.waiting import until


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


def test_a_head_that_begins_behind_a_request_has_no_more_time(
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


def test_the_clock_of_a_head_does_not_run_for_answers_and_between_requests(
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


def test_a_connection_on_which_nothing_is_sent_is_closed() -> None:
    async def conversation(connect: Connect) -> None:
        reader, _ = await connect()
        assert await reader.read() == b""

    talk(conversation)


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n", b"GET /\r\n\r\n"])
def test_what_is_no_request_is_told_in_the_shape_of_all_errors(sent: bytes) -> None:
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
    ],
)
def test_a_head_that_is_too_large_is_told_what_of_it_is(
    sent: bytes, end: bytes, status: bytes, code: str
) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent + end)
        found, error = await refusal(reader)
        assert (found, error["code"]) == (status, code)
        assert "address and header fields have more than 5000 bytes" in error["error"]

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
def test_fields_and_chunks_are_counted_and_the_refusal_arrives(
    sent: bytes, status: bytes, code: str
) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        writer.write(b"b" * 100_000)  # what is read no more must not reset the connection
        await writer.drain()
        found, error = await refusal(reader)
        assert (found, error["code"]) == (status, code)
        assert "more than" in error["error"]

    talk(conversation)


def test_what_is_refused_within_a_request_has_its_id() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        chunks = b"transfer-encoding: chunked\r\n\r\nzz\r\n"
        writer.write(POST + b"x-request-id: job-17\r\n" + chunks)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.lower().count(b"\r\nx-request-id: job-17\r\n") == 1

    talk(conversation)


def test_a_chunked_body_of_ordinary_chunks_and_a_head_of_many_fields_are_served() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for _ in range(2):  # each request is counted for itself
            writer.write(POST + b"a: b\r\n" * 200 + b"transfer-encoding: chunked\r\n\r\n")
            writer.write(b"1\r\na\r\n" * 3000 + b"0\r\n\r\n")
            assert (await reader.readuntil(b"ok")).count(b"a") >= 3000

    talk(conversation)


def test_a_length_beside_chunks_is_refused_and_ends_the_connection() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        chunks = b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        writer.write(POST + chunks + HEAD + b"\r\n")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")

    talk(conversation)


def test_a_client_that_has_closed_its_own_side_gets_its_answer() -> None:
    async def conversation(connect: Connect) -> None:
        for version in (b"1.1", b"1.0"):
            reader, writer = await connect()
            writer.write(b"GET /patient HTTP/%s\r\nhost: here\r\n\r\n" % version)
            await asyncio.sleep(0.05)
            writer.write_eof()
            await asyncio.sleep(4 * connection.QUIET_SECONDS)
            may_answer().set()
            answer = await reader.read()
            assert answer.endswith(b"ok")
            assert answer.count(b"100 Continue") == (version == b"1.1")
            may_answer().clear()
        assert not left

    talk(conversation)


def test_an_answer_that_comes_soon_has_no_interim_response_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "QUIET_SECONDS", 60)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /slow ") + b"\r\n")
        await asyncio.sleep(0.05)
        writer.write_eof()
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"ok")

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
def test_what_is_wrong_with_a_head_is_told_in_the_shape_of_its_path(
    rest: bytes, status: bytes
) -> None:
    async def conversation(connect: Connect) -> None:
        for path, shape in (
            (b"/v2/translate", {"message", "detail"}),
            (b"/translate", {"error", "code"}),
        ):
            reader, writer = await connect()  # what was asked for before is another matter
            writer.write(HEAD.replace(b" / ", b" /v2/usage ") + b"\r\n")
            await reader.readuntil(b"ok")
            writer.write(b"POST ")
            await asyncio.sleep(0.02)
            writer.write(path + rest)
            found, error = await refusal(reader)
            assert (found, set(error)) == (status, shape)

    talk(conversation)


@pytest.mark.parametrize("pieces", [1, 2])
def test_all_that_was_sent_before_a_client_closed_its_own_side_is_answered(pieces: int) -> None:
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

        reader, writer = await connect()  # what has only begun is told so, in its turn
        writer.write(HEAD + b"\r\n" + POST + b"content-length: 5\r\n\r\nhi")
        writer.write_eof()
        status, error = (await reader.readuntil(b"ok"))[9:12], await refusal(reader)
        assert (status, error[0], error[1]["code"]) == (b"200", b"400", "request_incomplete")

    talk(conversation)


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_client_that_has_gone_is_noticed(pause: float) -> None:
    async def conversation(connect: Connect) -> None:
        for _ in range(5):
            _, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
            await writer.drain()
            await asyncio.sleep(pause)
            writer.close()
        await until(lambda: left == ["/patient"] * 5)

    talk(conversation)


def test_an_answer_that_is_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.2)

    async def conversation(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /endless ") + b"\r\n")
        await until(lambda: left == ["/endless"])  # once the client's buffers are full

    talk(conversation)


def test_who_reads_a_little_now_and_then_has_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.3)

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


def test_behind_an_early_answer_the_rest_of_a_request_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "LINGER_SECONDS", 0.3)
    monkeypatch.setattr(transport, "LINGER_BYTES", 300_000)
    hasty = POST.replace(b" / ", b" /hasty ")

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()  # one that ends in time: the connection goes on
        for _ in range(2):
            writer.write(hasty + b"content-length: 200000\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.write(b"a" * 200_000)
        await asyncio.sleep(0.5)
        writer.write(HEAD + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

        reader, writer = await connect()  # a byte now and then
        writer.write(hasty + b"content-length: 200000\r\n\r\n")
        await reader.readuntil(b"ok")
        with suppress(ConnectionError):
            for _ in range(10):
                await asyncio.sleep(0.05)
                writer.write(b"a")
                await writer.drain()
            assert await asyncio.wait_for(reader.read(), 5) == b""

        reader, writer = await connect()  # as fast as it can
        writer.write(hasty + b"content-length: 90000000\r\n\r\n")
        await reader.readuntil(b"ok")
        with suppress(ConnectionError):
            for _ in range(900):
                writer.write(PIECE)
                await writer.drain()
            raise AssertionError("90 MB were taken in")

    talk(conversation)


@pytest.mark.parametrize("sent", [HEAD, POST + b"content-length: 5\r\n\r\nabc"])
def test_a_request_that_is_broken_off_is_told_so(sent: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        writer.write_eof()
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "request_incomplete")

    talk(conversation)


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", HEAD + b"a:\r\n" * 300 + b"\r\n"])
def test_who_is_refused_gives_the_place_back_whatever_still_comes(
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


@pytest.mark.parametrize(
    "head",
    [
        b"POST /hasty HTTP/1.0\r\nhost: here\r\n",
        b"POST /hasty HTTP/1.1\r\nhost: here\r\nconnection: close\r\n",
    ],
)
def test_an_early_answer_arrives_although_its_connection_ends(head: bytes) -> None:
    async def conversation(connect: Connect) -> None:
        for _ in range(5):
            reader, writer = await connect()
            writer.write(head + b"content-length: 2000000\r\n\r\n" + b"a" * 2_000_000)
            await writer.drain()
            assert (await reader.read()).endswith(b"ok")

    talk(conversation)


def test_empty_lines_before_a_request_are_passed_over() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for lines in (b"\r\n", b"\r\n\r\n", b""):
            writer.write(lines)
            await asyncio.sleep(0.02)
            writer.write(lines + HEAD + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation)


def test_who_broke_off_a_request_for_a_head_gets_that() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(POST.replace(b"POST", b"HEAD") + b"content-length: 5\r\n\r\nabc")
        writer.write_eof()
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert (head[9:12], body) == (b"400", b"")

    talk(conversation)


def test_requests_that_are_sent_at_once_are_answered_in_turn_and_held_as_bytes() -> None:
    class Counting(Connections):
        """Remembers what connections hold."""

        most = 0

        def received(self, one: connection.Connection) -> None:
            super().received(one)
            self.most = max(self.most, len(one._buffer))

    connections = Counting()
    sent = HEAD.replace(b" / ", b" /slow ") + b"\r\n" + (HEAD + b"\r\n") * 50_000

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        await reader.readuntil(b"ok")
        writer.transport.abort()

    talk(conversation, connections)
    read_at_once = 256 * 1024  # by asyncio
    assert 0 < connections.most <= connection.HELD_BYTES + read_at_once < len(sent)


def test_an_error_behind_a_request_waits_for_its_turn() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /slow ") + b"\r\nnonsense\r\n\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"400", "invalid_http")

    talk(conversation)


@pytest.mark.parametrize(("version", "told"), [(b"1.1", True), (b"1.0", False)])
def test_who_expects_it_is_told_to_continue_unless_it_speaks_http_1_0(
    version: bytes, told: bool
) -> None:
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
        reader, writer = await connect()  # whether its body comes is not known: the connection ends
        writer.write((head % version).replace(b" / ", b" /hasty "))
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer

    talk(conversation)


def test_what_is_refused_in_front_of_the_application_costs_no_task_and_keeps_the_connection() -> (
    None
):
    class Refusing:
        """Refuses all but one path."""

        def refusal(self, scope: Scope) -> Response | None:
            return None if scope["path"] == "/" else Response("no", 429)

        def note(self, response: Response, path: str) -> None:
            response.headers["x-noted"] = "yes"

    post = POST.replace(b" / ", b" /translate ") + b"content-length: 5\r\n\r\n"

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write((post + b"hello") * 3_000)  # more than the interpreter's stack could take
        for _ in range(3_000):
            assert (await reader.readuntil(b"\r\n\r\nno")).startswith(b"HTTP/1.1 429")
        writer.write(post)  # its body comes behind the refusal
        assert (await reader.readuntil(b"\r\n\r\nno")).startswith(b"HTTP/1.1 429")
        writer.write(b"hello" + HEAD + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.write(b"nonsense\r\n\r\n")
        assert b"x-noted: yes" in await reader.read()

    talk(conversation, early_refusal=Refusing())  # type: ignore[arg-type]


def test_a_connection_that_has_ended_leaves_no_clock_behind() -> None:
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
    soon = 5.0  # what is due by then has run
    assert not [one for one in running if one.when() > ended[0] + soon and not one.cancelled()]

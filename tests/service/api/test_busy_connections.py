"""While most connections are busy, others refuse all requests but probes."""

import asyncio
from functools import partial
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service.api.connection import Connection
from service.api.connections import Connections
from service.api.line import Line
from service.api.middleware.admission import Admission
from service.api.middleware.context import AccessLog, RequestContext
from service.api.middleware.early import EarlyRefusal
from service.metrics import Metrics
from tests.service.api import conversation as conversations
from tests.service.api.conversation import HEAD, POST, Connect, may_answer, refusal, talk
from tests.service.api.simulation import Socket
from tests.waiting import until


def test_at_the_limit_of_busy_connections_only_health_is_answered() -> None:
    patient = HEAD.replace(b" / ", b" /patient ") + b"\r\n"

    async def conversation(connect: Connect) -> None:
        slow_reader, slow_writer = await connect()  # its request stays incomplete
        slow_writer.write(POST + b"content-length: 5\r\n\r\n")
        await asyncio.sleep(0.05)
        busy = [await connect() for _ in range(3)]
        for _, writer in busy:
            writer.write(patient)
        await asyncio.sleep(0.05)
        reader, writer = await connect()
        assert await slow_reader.read() == b""
        writer.write(HEAD + b"\r\n")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"503", "too_many_connections")
        assert "3 connections are busy, the limit is 3" in error["error"]
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /health/ready ") + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        may_answer().set()
        for reader, _ in busy:
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation, Connections(4), keep_alive_seconds=60)


@pytest.mark.parametrize(
    "path", [b"/health/live", b"/health%2Flive", b"/%68ealth/live", b"/%6Detrics"]
)
def test_pipelined_probes_take_no_reserved_connections(path: bytes) -> None:
    probe = HEAD.replace(b" / ", b" " + path + b" ") + b"\r\n"  # or what looks like one

    async def conversation(connect: Connect) -> None:
        holding = [await connect() for _ in range(4)]
        for _, writer in holding:
            writer.write(probe * 1_000)
        for _ in range(3):
            reader, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /health/live ") + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation, Connections(4), keep_alive_seconds=60)


def test_a_body_that_is_completed_while_others_are_busy_is_refused() -> None:
    head = (
        POST.replace(b" / ", b" /patient ") + b"x-request-id: job-17\r\ncontent-length: 2\r\n\r\n"
    )

    def num_idle_is(count: int) -> bool:
        return len(connections._idle) == count

    async def conversation(connect: Connect) -> None:
        streams = [await connect() for _ in range(4)]
        for _, writer in streams:
            writer.write(head + b"a")
        await until(lambda: len(connections) == 4)
        for number, (_, writer) in enumerate(streams):
            writer.write(b"b")
            await until(partial(num_idle_is, max(3 - number, 1)))
        status, error = await refusal(streams[3][0])
        assert (status, error["code"]) == (b"503", "too_many_connections")
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /health/live ") + b"\r\n")
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        may_answer().set()

    connections = Connections(4)
    talk(conversation, connections, keep_alive_seconds=60)


def test_a_request_on_one_connection_too_many_is_counted_and_has_an_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics, connections = Metrics(), Connections(4)
    monkeypatch.setattr(conversations, "app", RequestContext(conversations.app, metrics))

    async def conversation(connect: Connect) -> None:
        for _ in range(3):
            _, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
        await until(lambda: not connections._idle and len(connections) == 3)
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /v2/translate ") + b"x-request-id: job-17\r\n\r\n")
        answer = await reader.read()
        assert answer.count(b"\r\nx-request-id: job-17\r\n") == 1
        assert answer.count(b"\r\nx-trace-id: job-17\r\n") == 1
        may_answer().set()

    talk(conversation, connections, keep_alive_seconds=60)
    counted = metrics.registry.get_sample_value
    labels = {"route": "unmatched", "method": "GET", "status": "503"}
    assert counted("attendant_requests_total", labels) == 1
    assert counted("attendant_errors_total", {"code": "too_many_connections"}) == 1


def test_a_pipelined_request_whose_body_is_missing_does_not_make_a_connection_busy() -> None:
    incomplete = POST + b"content-length: 5\r\n\r\n"

    async def conversation(connect: Connect) -> None:
        for _ in range(6):
            reader, writer = await connect()
            writer.write(HEAD + b"\r\n" + incomplete)
            await reader.readuntil(b"ok")
        for _ in range(2):
            reader, writer = await connect()
            writer.write(HEAD + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    talk(conversation, Connections(4), keep_alive_seconds=60)


def test_a_client_that_has_yet_to_read_its_answer_is_busy() -> None:
    connections = Connections(4)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /endless ") + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        [one] = connections._open
        await until(lambda: not one.writable.is_set())
        assert one.is_busy
        assert one not in connections._idle
        while not one.writable.is_set():
            await reader.read(2_000_000)
        writer.transport.abort()
        await until(lambda: not connections._open)

    talk(conversation, connections)


def test_while_others_are_busy_a_connection_gets_only_one_refusal() -> None:
    admission = Admission(0, 60, lambda: None, lambda: None)
    early = EarlyRefusal(admission, AccessLog(Metrics()))
    request = POST.replace(b" / ", b" /translate ") + b"content-length: 1\r\n\r\na"

    async def conversation(connect: Connect) -> None:
        for _ in range(3):
            _, writer = await connect()
            writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
        await until(lambda: not connections._idle and len(connections) == 3)
        reader, writer = await connect()
        writer.write(request * 3)
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"503", "too_many_connections")
        may_answer().set()

    connections = Connections(4)
    talk(conversation, connections, keep_alive_seconds=60, early_refusal=early)


def test_clients_that_do_not_read_why_they_are_refused_take_no_reserved_connections() -> None:
    async def run() -> None:
        config = uvicorn.Config(conversations.app, log_config=None)
        connections = Connections(4)

        def connect() -> Socket:
            socket = Socket()
            socket.connect(Connection(config, ServerState(), {}, None, connections))
            return socket

        refused = [connect() for _ in range(4)]
        for socket in refused:
            socket.read(reads=False)
            socket.protocol.data_received(b"GET / HTTP/1.1\r\n\r\n")
            assert not socket.protocol.writable.is_set()
        newcomer = connect()
        assert [socket.was_aborted for socket in [*refused, newcomer]] == [
            *[False] * 3,
            True,
            False,
        ]
        for socket in (*refused, newcomer):
            socket.reset()
        await until(lambda: len(connections) == 0)

    asyncio.run(run())


def test_a_complete_pipelined_request_that_waits_in_line_makes_its_connection_busy() -> None:
    connections, states = Connections(4), list[bool]()

    class Noting(Line):
        """A line that notes whether what waits in it is busy."""

        def wait(self, connection: Any) -> None:
            super().wait(connection)
            connection.loop.call_soon(lambda: states.append(connection not in connections._idle))

    connections.others = Noting()

    async def conversation(connect: Connect) -> None:
        for body in (b"hello", b"hel"):
            reader, writer = await connect()
            writer.write(HEAD + b"\r\n" + POST + b"content-length: 5\r\n\r\n" + body)
            await reader.readuntil(b"ok")

    talk(conversation, connections)
    assert states == [True, False]


def test_a_request_beyond_the_limit_of_busy_connections_is_not_put_in_line() -> None:
    connections = Connections(4)
    patient = HEAD.replace(b" / ", b" /patient ") + b"\r\n"

    async def conversation(connect: Connect) -> None:
        for _ in range(3):
            _, writer = await connect()
            writer.write(patient)
        await until(lambda: len(connections._idle) == 0)
        connections.others.may_begin = lambda loop: False  # type: ignore[method-assign]
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n")
        status, error = await refusal(reader)
        assert (status, error["code"]) == (b"503", "too_many_connections")
        may_answer().set()

    talk(conversation, connections, keep_alive_seconds=60)

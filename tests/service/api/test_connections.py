"""Which connection is closed when there are too many."""

import asyncio
import gc
import weakref

import pytest

from service.api.connection import Connection
from service.api.connections import Connections, limit_for
from tests.service.api.conversation import HEAD, POST, Connect, may_answer, talk
from tests.waiting import until


def test_at_the_limit_the_longest_idle_connection_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def conversation(connect: Connect) -> None:
        streams = [await connect() for _ in range(3)]
        for reader, writer in streams[::-1]:  # the last one is idle for longest
            writer.write(HEAD + b"\r\n")
            await reader.readuntil(b"ok")
        newcomers = [await connect() for _ in range(2)]
        assert await streams[2][0].read() == b""
        assert await streams[1][0].read() == b""
        for reader, writer in (streams[0], *newcomers):
            writer.write(HEAD + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")

    connections = Connections(3)
    talk(conversation, connections)
    assert connections.num_closed == 2
    assert len([one for one in caplog.records if "limit of 3 connections" in one.message]) == 1


def test_at_the_limit_an_upload_in_progress_is_kept() -> None:
    async def conversation(connect: Connect) -> None:
        uploading, upload = await connect()
        upload.write(POST + b"content-length: 3\r\n\r\na")
        silent = [await connect() for _ in range(2)]
        await until(lambda: len(connections) == 3)
        upload.write(b"b")
        await asyncio.sleep(0.05)
        await connect()
        assert await silent[0][0].read() == b""
        upload.write(b"c")
        assert (await uploading.readuntil(b"abcok")).startswith(b"HTTP/1.1 200")

    connections = Connections(3)
    talk(conversation, connections)


@pytest.mark.parametrize("place", ["_begin", "_watch"])
def test_a_connection_with_an_unexpected_error_is_closed(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(4)

    def fail(*_: object) -> None:
        raise MemoryError

    async def conversation(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n" + HEAD + b"\r\n")
        await until(lambda: not connections._idle and len(connections) == 1)
        monkeypatch.setattr(Connection, place, fail)
        may_answer().set()
        await until(lambda: not connections._open)
        assert not connections._idle

    talk(conversation, connections, keep_alive_seconds=60)


def test_a_closed_connection_is_freed_without_garbage_collection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alive: list[weakref.ref[Connection]] = []
    opened = Connections.opened

    def watched(connections: Connections, one: Connection) -> None:
        alive.append(weakref.ref(one))
        opened(connections, one)

    monkeypatch.setattr(Connections, "opened", watched)

    async def conversation(connect: Connect) -> None:
        incomplete = b"GET / HTTP/1.1\r\nX: " + b"a" * 4000
        patient = HEAD.replace(b" / ", b" /patient ") + b"\r\n"  # is left before its answer
        for sent in (b"", incomplete, patient, HEAD + b"\r\n"):
            reader, writer = await connect()
            writer.write(sent)
            if sent.startswith(HEAD):
                await reader.readuntil(b"ok")
            await asyncio.sleep(0.05)
            writer.close()
            await asyncio.sleep(0.05)
        for _ in range(100):
            if not any(one() for one in alive[:3]):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("they are still there")

    gc.disable()
    try:
        talk(conversation)
    finally:
        gc.enable()
    assert len(alive) == 4


def test_a_request_that_arrives_at_the_moment_of_a_stop_is_answered() -> None:
    class Latest(Connections):
        """Records the connection that was opened last."""

        def opened(self, connection: Connection) -> None:
            super().opened(connection)
            self.latest = connection

    connections = Latest()

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"ok")
        connections.latest.data_received(POST + b"content-length: 5\r\n\r\n")
        connections.latest.shutdown()
        assert await reader.read() == b""

    talk(conversation, connections)


@pytest.mark.parametrize(("files", "limit"), [(64, 32), (256, 128), (1024, 864), (4096, 1000)])
def test_connections_leave_room_for_other_files(
    files: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (files, files))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    assert limit_for(1000) == limit


def test_an_answer_that_begins_while_the_service_stops_says_that_its_connection_is_closed() -> None:
    connections = Connections()

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD.replace(b" / ", b" /patient ") + b"\r\n")
        await until(lambda: not connections._idle and len(connections) == 1)
        connections.are_winding_down = True
        may_answer().set()
        assert b"connection: close" in (await reader.read()).lower()

    talk(conversation, connections)

"""The end of a connection, with a transport that only records calls."""

import asyncio
from typing import Any
from unittest.mock import Mock, patch

import pytest
import uvicorn
from starlette.responses import Response
from uvicorn.server import ServerState

from service.api import transport
from service.api.connection import Connection
from service.api.connections import Connections
from service.api.exchange import Exchange
from service.api.head import Head
from service.api.server import Server, Stop, drop_new
from service.api.transport import LingeringTransport
from tests.service.api.simulation import Socket


class Remembering(asyncio.Transport):
    """A transport that records calls."""

    def __init__(self) -> None:
        super().__init__()
        self.told = list[str]()

    def close(self) -> None:
        self.told.append("close")

    def abort(self) -> None:
        self.told.append("abort")

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return Mock()

    def write_eof(self) -> None:
        self.told.append("eof")

    def resume_reading(self) -> None:
        self.told.append("resume")

    def is_closing(self) -> bool:
        return "close" in self.told or "abort" in self.told

    def write(self, data: Any) -> None:
        self.told.append(f"write {len(data)}")


async def told_after(under: Remembering, seconds: float) -> list[str]:
    await asyncio.sleep(seconds)
    return under.told


def test_a_closed_connection_with_unread_data_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "WRITE_SECONDS", 0.02)

    async def run(unread: bool) -> list[str]:
        under = Remembering()
        one = LingeringTransport(under, lambda: False)
        if unread:
            one.block()
        one.close()
        assert under.told == ["close"]
        return await told_after(under, 0.1)

    assert asyncio.run(run(unread=True)) == ["close", "abort"]
    assert asyncio.run(run(unread=False)) == ["close"]


def test_data_after_an_answer_is_dropped_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "LINGER_SECONDS", 0.05)
    monkeypatch.setattr(transport, "LINGER_BYTES", 100)

    async def run() -> None:
        under = Remembering()
        one = LingeringTransport(under, lambda: True)
        one.close()
        one.close()
        one.write(b"more")
        assert one.is_closing()
        assert under.told == ["resume", "eof"]
        one.take(100)
        assert under.told == ["resume", "eof"]
        one.take(1)
        assert under.told == ["resume", "eof", "abort"]
        under = Remembering()
        one = LingeringTransport(under, lambda: True)
        one.linger()
        assert not one.is_closing()
        assert await told_after(under, 0.2) == ["abort"]
        under = Remembering()
        one = LingeringTransport(under, lambda: True)
        one.linger()
        one.stop_lingering()
        assert await told_after(under, 0.2) == []

    asyncio.run(run())


def test_reading_the_end_of_an_answer_takes_nothing_from_the_time_for_the_next() -> None:
    now, loop = 0.0, Mock(time=lambda: now)

    def answer() -> None:
        Exchange(connection, Head(b"GET / HTTP/1.0\r\n\r\n"), {"path": "/"}).answer(Response())

    one = LingeringTransport(Remembering(), lambda: False)
    connection = Mock(transport=one, server_state=Mock(default_headers=[]), all=Connections())
    with patch.object(asyncio, "get_running_loop", lambda: loop):
        for _ in range(2):
            answer()
            one.block()
            now += transport.WRITE_SECONDS - 1
            one.unblock()
    assert [call.args[0] for call in loop.call_later.mock_calls if call.args] == [
        transport.WRITE_SECONDS
    ] * 2


def test_a_refusal_has_the_whole_time_to_be_read() -> None:
    async def run() -> None:
        socket, app = Socket(), uvicorn.Config("none")
        connection = Connection(app, ServerState(), {}, None, Connections())
        socket.connect(connection)
        connection.transport._blocked_seconds = transport.WRITE_SECONDS  # of an answer before
        socket.protocol.data_received(b"GET / HTTP/1.1\r\n\r\n")
        assert connection.transport._blocked_seconds == 0.0
        assert connection.transport.is_closing()
        socket.reset()

    asyncio.run(run())


def test_a_stop_waits_until_the_kernel_has_taken_all_answers() -> None:
    stop = Stop(0.0, 0.0, bool, lambda: None, lambda: None, lambda: None)
    server = Server(uvicorn.Config("none"), Connections(), stop)
    under, writable = Remembering(), asyncio.Event()
    wrapped = LingeringTransport(under, lambda: False)
    server.server_state.connections.add(Mock(transport=wrapped, writable=writable))
    assert not server._is_done()
    wrapped.close()
    assert wrapped.is_closing()
    assert not server._is_done()
    writable.set()
    assert server._is_done()


def test_where_packets_cannot_be_dropped_hardly_any_connections_are_queued() -> None:
    listener = Mock(setsockopt=Mock(side_effect=PermissionError))
    drop_new(listener)
    listener.listen.assert_called_once_with(0)

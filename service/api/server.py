"""uvicorn's server with a graceful shutdown: every client that has connected gets an answer.

1. The service reports that it is not ready, so that proxies send no more requests. For `delay_seconds`, it
   still serves all requests, and closes each connection after an answer that says so.
2. It stops listening. Requests that have been sent by then are still served, also on connections that only
   the kernel has accepted. New requests get 503, and so do those that are not complete after
   `ARRIVAL_SECONDS`.
3. Admitted requests have `drain_seconds` to finish. Those that do not are cancelled with an error.
"""

import asyncio
import ctypes
import logging
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import FrameType

import uvicorn

from service.api.connection import Connection
from service.api.connections import Connections

logger = logging.getLogger(__name__)

BACKLOG = 2048
"""Maximum number of connections that the kernel queues until they are accepted."""
ACCEPTS_PER_TURN = 16
"""Connections accepted per turn of the event loop, by which their limit may be exceeded for a moment."""
ARRIVAL_SECONDS = 2.0
"""When the service stops, the time in which incomplete requests may still arrive, to be refused with 503."""
KERNEL_BYTES = 131_072
"""What the kernel holds of what is not read, in each direction of a connection; Linux allows twice that."""
BEGIN_SECONDS = 0.2
"""Time in which requests on the connections accepted last are read, and in which the last in line begin."""
HANDSHAKE_SECONDS = 0.2
"""When the service stops, the time in which connections that clients have begun to open become open."""
_SO_ATTACH_FILTER = 26
"""Linux's socket option for a packet filter."""
_NO_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
"""A filter: load TCP's flags; if SYN is among them, pass no bytes, otherwise all (RFC 9293, section 3.1)."""
CUT_OFF_SECONDS = 2.0
"""Time for cancelled requests to send their error."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The times of a shutdown, and its callbacks."""

    delay_seconds: float
    """Time to continue to serve requests after reporting that the service is not ready."""
    drain_seconds: float
    """Time for admitted requests to finish."""
    can_finish: Callable[[], bool]
    """Returns whether admitted requests can finish: not if a model hangs."""
    announce: Callable[[], None]
    """Makes the service report that it is not ready."""
    refuse: Callable[[], None]
    """Makes the service refuse all new work."""
    finish: Callable[[], None]
    """Called at the end of the shutdown."""


class Server(uvicorn.Server):
    """A server that shuts down gracefully."""

    def __init__(self, config: uvicorn.Config, connections: Connections, stop: Stop) -> None:
        """Create a server; the protocol in `config` must use the same `connections`."""
        super().__init__(config)
        self.all, self.stop = connections, stop
        self._signal: int | None = None  # that stopped the server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Record the signal, then stop."""
        self._signal = sig
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with a larger backlog in the kernel than the number of connections accepted per turn.

        asyncio uses one number for both. Connections inherit the size of the kernel's buffers.
        """
        await super().startup(sockets)
        for listener in self._listeners():
            with listener:
                for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    listener.setsockopt(socket.SOL_SOCKET, buffer, KERNEL_BYTES)
                listener.listen(BACKLOG)

    def _log_started_message(self, listeners: Sequence[socket.SocketType]) -> None:
        """Log every address; uvicorn expects a single host."""
        for listener in listeners:
            host, port = listener.getsockname()[:2]
            logger.info("serving on http://%s:%d", f"[{host}]" if ":" in host else host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Shut down in the stages that the module describes; a second SIGINT ends all waiting."""
        logger.info("stopping")
        self.stop.announce()
        self.all.are_winding_down = True
        # not after Ctrl+C or a failure: no proxy needs the delay
        if self._signal == signal.SIGTERM:
            await self._until(lambda: False, self.stop.delay_seconds)
        await self._stop_listening()
        await asyncio.sleep(BEGIN_SECONDS)
        await self._until(lambda: not self.all.num_in_line, ARRIVAL_SECONDS)
        await asyncio.sleep(BEGIN_SECONDS)
        self.stop.refuse()
        await self._until(self._all_are_received, ARRIVAL_SECONDS)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        drain = self.stop.drain_seconds if self.stop.can_finish() else CUT_OFF_SECONDS
        if not await self._until(self._is_done, drain):
            logger.warning("%d requests were not finished in time", len(self.server_state.tasks))
            if not self.stop.can_finish():
                await self._cut_off()
        await self.lifespan.shutdown()
        if not await self._until(self._is_done, CUT_OFF_SECONDS):
            await self._cut_off()
        self.stop.finish()

    async def _cut_off(self) -> None:
        """Cancel the requests that are not finished; each sends an error."""
        for task in self.server_state.tasks:
            task.cancel()
        await self._until(self._is_done, CUT_OFF_SECONDS)

    async def _stop_listening(self) -> None:
        """Close the listening sockets, and serve all connections that clients have begun to open by then."""
        with ExitStack() as stack:
            listeners = [stack.enter_context(listener) for listener in self._listeners()]
            for server in self.servers:
                server.close()
            for listener in listeners:
                drop_new(listener)
            await self._accept_from(listeners)
            await asyncio.sleep(HANDSHAKE_SECONDS)
            await self._accept_from(listeners)

    async def _accept_from(self, listeners: Sequence[socket.socket]) -> None:
        """Serve the connections that the kernel has accepted."""
        accepted = [connected for listener in listeners for connected in _accepted(listener)]
        for connected in accepted:
            connected.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(
                self._new_connection, connected
            )

    def _listeners(self) -> list[socket.socket]:
        """Return duplicates of the listening sockets, which the caller must close."""
        return [listener.dup() for server in self.servers for listener in server.sockets]

    def _new_connection(self) -> asyncio.Protocol:
        connection: Connection = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return connection

    async def _until(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Wait until `is_over` returns true, for up to `seconds`; return its last result."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not (result := is_over()) and not self.force_exit:
            seconds_left = deadline - asyncio.get_running_loop().time()
            if seconds_left <= 0:
                break
            await asyncio.sleep(min(seconds_left, 0.02))
        return result

    def _is_done(self) -> bool:
        """Return whether all requests are answered; clients that are still sending are not waited for."""
        connections: Sequence[Connection] = list(self.server_state.connections)  # type: ignore[arg-type]
        return not self.server_state.tasks and all(
            connection.transport.is_closing() and connection.writable.is_set()
            for connection in connections
        )

    def _all_are_received(self) -> bool:
        connections: Sequence[Connection] = list(self.server_state.connections)  # type: ignore[arg-type]
        return not any(connection.awaits_request for connection in connections)


def drop_new(listener: socket.socket) -> None:
    """Drop packets that would open connections: one opened after the last is accepted would be reset.

    Their clients send them again after a second, and are refused then. Handshakes that have begun go on. Only
    Linux can do this; elsewhere, and in sandboxes without filters, the kernel is told to queue hardly any
    connections.
    """
    if sys.platform == "linux":
        code = b"".join(struct.pack("=HBBI", *instruction) for instruction in _NO_SYN)
        instructions = ctypes.create_string_buffer(code)
        program = struct.pack("HP", len(_NO_SYN), ctypes.addressof(instructions))
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
            return
    listener.listen(0)


def _accepted(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that the kernel has accepted."""
    while True:
        try:
            yield listener.accept()[0]
        except ConnectionError:  # its client has gone already
            continue
        except OSError:
            return

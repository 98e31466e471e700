"""uvicorn's server with a graceful stop: everybody who has reached the service gets an answer.

1. The service reports that it is not ready, so that proxies send no more requests. For `delay_seconds`, it
   still serves all requests, and closes each connection after its next answer.
2. It stops listening. Connections that the kernel has accepted by then are taken in; new requests get 503,
   and so do requests that are not complete after `ARRIVAL_SECONDS`.
3. Admitted requests have `drain_seconds` to finish. Then they are cut off with an error.
"""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

import uvicorn

from service.api.connection import Connection
from service.api.connections import Connections

logger = logging.getLogger(__name__)

BACKLOG = 2048
"""Connections that the kernel holds until they are taken in."""
ACCEPTS_PER_TURN = 16
"""Connections taken in before the event loop does anything else: so many may be over the limit."""
ARRIVAL_SECONDS = 2.0
"""For which a request may still come, or the rest of one, when the service stops: each is told so."""
CUT_OFF_SECONDS = 2.0
"""In which what is cut off is told so."""


@dataclass(frozen=True, slots=True)
class Stop:
    """How a server ends."""

    delay_seconds: float
    """For which it goes on serving although it is not ready."""
    drain_seconds: float
    """For which admitted requests may go on."""
    can_finish: Callable[[], bool]
    """Whether they can: not where a model hangs."""
    announce: Callable[[], None]
    """Turns readiness."""
    refuse: Callable[[], None]
    """Refuses all new work."""
    finish: Callable[[], None]
    """Called when all is done that can be done."""


class Server(uvicorn.Server):
    """Serves until it is told to stop."""

    def __init__(self, config: uvicorn.Config, connections: Connections, stop: Stop) -> None:
        """Serve as `config` says, which has `connections` too."""
        super().__init__(config)
        self.all, self.stop = connections, stop
        self._told_by: int | None = None  # a signal

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note which signal it is."""
        self._told_by = sig
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; asyncio has one number for the kernel's backlog and for what it takes at once."""
        await super().startup(sockets)
        for listener in self._listeners():
            with listener:
                listener.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Stop, as the module says; a second SIGINT cuts all of it short."""
        logger.info("stopping")
        self.stop.announce()
        self.all.are_winding_down = True
        if self._told_by == signal.SIGTERM:  # not a person, nor a failure
            await self._until(lambda: False, self.stop.delay_seconds)
        await self._stop_listening()
        self.stop.refuse()
        await self._until(self._all_have_come, ARRIVAL_SECONDS)
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
        """Give up what is not done; each request is told so."""
        for task in self.server_state.tasks:
            task.cancel()
        await self._until(self._is_done, CUT_OFF_SECONDS)

    async def _stop_listening(self) -> None:
        """Close the listening sockets, and take in all that the kernel has accepted until then."""
        loop = asyncio.get_running_loop()
        listeners = self._listeners()
        for server in self.servers:
            server.close()
        accepted = []
        for listener in listeners:
            with listener:
                listener.listen(0)  # nobody new gets into the line
                while (connected := _accepted(listener)) is not None:
                    accepted.append(connected)
        for connected in accepted:
            connected.setblocking(False)
            await loop.connect_accepted_socket(self._new_connection, connected)

    def _listeners(self) -> list[socket.socket]:
        """The listening sockets once more: these are closed by whoever asks."""
        return [listener.dup() for server in self.servers for listener in server.sockets]

    def _new_connection(self) -> asyncio.Protocol:
        connection: Connection = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return connection

    async def _until(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Wait for it, but so long at most; whether it came."""
        end = asyncio.get_running_loop().time() + seconds
        while not (found := is_over()) and not self.force_exit:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.sleep(min(left, 0.02))
        return found

    def _is_done(self) -> bool:
        """Whether all have their answer; who still sends is not waited for."""
        connections: Sequence[Connection] = list(self.server_state.connections)  # type: ignore[arg-type]
        return not self.server_state.tasks and all(
            one.transport.is_closing() for one in connections
        )

    def _all_have_come(self) -> bool:
        connections: Sequence[Connection] = list(self.server_state.connections)  # type: ignore[arg-type]
        return not any(connection.awaits_request for connection in connections)


def _accepted(listener: socket.socket) -> socket.socket | None:
    """The next connection that the kernel has accepted; None where there is none."""
    while True:
        try:
            return listener.accept()[0]
        except ConnectionError:  # it has gone already
            continue
        except OSError:
            return None

"""A client's connection: uvicorn's, bounded in time, in size and in number, and refusing in our words.

A connection holds a place among `Connections` until it is closed. What it may cost before anybody has looked
at its request is bounded here: the head (seconds, bytes, fields), chunks of the body, the rest of a body that
nobody wants, and an answer that its client does not read.
"""

import asyncio
import socket
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.api.connections import Connections
from service.api.errors import answer
from service.api.parser import BoundedParser
from service.api.transport import LingeringTransport
from service.errors import NotReadyError

HEAD_SECONDS = 30.0
"""In which a request's head must arrive, counted from its first byte."""
WRITE_SECONDS = 30.0
"""For which, in all, an answer may wait for its client to read on."""
QUIET_SECONDS = 0.05
"""After a client has closed its side: for which the answer may come before the client is looked for."""
PROBE_SECONDS = (0.0, 0.002, 0.01, 0.05, 0.25)
"""From then on: the pauses between looks at whether it has closed the other, too."""


class Connection(H11Protocol):
    """One connection. One on which nothing was ever sent is closed when an idle one would be."""

    def __init__(self, *args: Any, connections: Connections | None = None, **options: Any) -> None:
        """As uvicorn makes it; `connections` are all that are open."""
        super().__init__(*args, **options)
        self.all = Connections() if connections is None else connections
        self.conn: BoundedParser = BoundedParser(self.config.h11_max_incomplete_event_size or 65536)
        self.transport: LingeringTransport
        self._has_client_ended = False
        """Whether the client has closed its side: what it has sent is answered, no more can come."""
        self._task: asyncio.Task[Any] | None = None  # that answers the request
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._probe_timer: asyncio.TimerHandle | None = None
        self._unread_since = 0.0
        self._unread_seconds = 0.0  # of the answer so far, while its client did not read

    @property
    def app(self) -> ASGIApp:
        """What answers the request whose head has just arrived."""
        return partial(self._serve, self.all.app_for(self, self._loaded_app))

    @app.setter
    def app(self, loaded: ASGIApp) -> None:
        self._loaded_app = loaded

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def awaits_request(self) -> bool:
        """Whether a request, or the rest of one, may still come."""
        return self.is_idle or self._is_receiving()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; wait for a first byte as long as for the next request."""
        super().connection_made(LingeringTransport(transport, self._is_receiving))
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        self.all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back and leave no clock behind."""
        self.all.closed(self)
        for timer in (self._head_timer, self._write_timer, self._probe_timer):
            if timer is not None:
                timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        self.transport.lost()

    def data_received(self, data: bytes) -> None:
        """Take in what has come; watch the clock while a head is incomplete."""
        self.transport.take(len(data))
        if self._is_reset():  # before it costs anything: its client has gone already
            self.transport.abort()
        if self.transport.is_closing():
            return
        is_between = self.conn.their_state is h11.IDLE and not self.conn.has_unread
        if is_between and not data.lstrip(b"\r\n"):  # empty lines start no request, and no clock
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.transport.is_lingering and not (self._is_receiving() and self.is_idle):
            self._go_on()
        self._watch_head()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self.all.received(self)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Go on with an answer: the client may have closed only its own side, as `nc -N` does.

        One that has gone altogether answers with a reset when it is sent something.
        """
        self._has_client_ended = True
        self._end_if_all_is_answered()
        if self.is_idle or self.transport.is_closing():
            return False
        self._probe_timer = self.loop.call_later(QUIET_SECONDS, self._ask)
        return True

    def pause_writing(self) -> None:
        """The client does not read: only so long."""
        super().pause_writing()
        self._unread_since = self.loop.time()
        left = max(0.0, WRITE_SECONDS - self._unread_seconds)
        self._write_timer = self.loop.call_later(left, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if self._write_timer is not None:
            self._unread_seconds += self.loop.time() - self._unread_since
            self._write_timer.cancel()
            self._write_timer = None

    def on_response_complete(self) -> None:
        """An answer is out; what is left of its request's body is read for a while, so that it arrives."""
        self._unread_seconds = 0.0
        if self._is_receiving():
            self.transport.linger()
        super().on_response_complete()
        if self.is_idle or self._is_receiving():  # else the next request was there already
            self.all.answered(self)
        self._watch_head()
        if self._has_client_ended:
            self._end_if_all_is_answered()

    def shutdown(self) -> None:
        """Let the request that is being answered be the last; one that is not complete by now is refused."""
        if self.transport.is_closing():
            return
        if self.conn.is_in_head:
            message = "the service is stopping, and the request was not complete"
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, message, NotReadyError.code)
            return
        super().shutdown()
        is_incomplete = self._is_receiving() and not self.is_idle
        if is_incomplete and not self.cycle.response_started and self._task is not None:
            self._task.cancel()  # which is answered

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, in a task that `shutdown` can cut off."""
        self._task = task = asyncio.current_task()
        try:
            await app(scope, receive, send)
        finally:
            if self._task is task:  # else the next request was there already
                self._task = None

    def _should_upgrade(self) -> bool:
        """Never: who offers it (Java's HttpClient, in every request) is answered as if nothing had been said.

        uvicorn's own writes two lines on the log for each.
        """
        return False

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        """What uvicorn calls for a request that is none, in the shape of all other errors."""
        no_http = HTTPStatus.BAD_REQUEST, "Invalid request: it is not HTTP/1.1", "invalid_http"
        self._refuse(*self.conn.refusal or no_http)

    def _refuse_slow(self) -> None:
        message = f"Invalid request: after {HEAD_SECONDS:g} s its head was not complete"
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, message, "head_too_slow")

    def _refuse(self, status: HTTPStatus, message: str, code: str) -> None:
        """Answer, where no answer has begun, and close."""
        if self.transport.is_closing():
            return
        path = self.conn.path if self.is_idle else self.scope["path"]
        response = answer(status, message, code, path=path)
        headers = [*response.raw_headers, (b"connection", b"close")]
        is_head = not self.is_idle and self.scope["method"] == "HEAD"
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (
                h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
                h11.Data(data=b"" if is_head else bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if not self.is_idle:  # whoever waits for more of the request waits in vain
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.hang_up()
        self._forget_head()

    def _end_if_all_is_answered(self) -> None:
        """Close a connection of which nothing more can come; a request that has only begun is told so."""
        if self._is_receiving() or self.conn.is_in_head:
            message = "Invalid request: the connection was closed before it was complete"
            self._refuse(HTTPStatus.BAD_REQUEST, message, "request_incomplete")
        elif self.is_idle:
            self.transport.close()

    def _watch_head(self) -> None:
        """Have the clock run exactly while a head is incomplete, also one that came behind a request."""
        if self.transport.is_closing() or not self.conn.is_in_head:
            self._forget_head()
        elif self._head_timer is None:
            self._unset_keepalive_if_required()
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse_slow)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _is_receiving(self) -> bool:
        """Whether more of a request may come, although it may be answered already."""
        return self.conn.their_state is h11.SEND_BODY

    def _go_on(self) -> None:
        """The rest of an answered request has come: the connection is as good as new."""
        self.transport.stop_lingering()
        if self.is_idle and self.all.are_winding_down:
            self.transport.close()
        elif self.is_idle:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _is_reset(self) -> bool:
        """Whether the client has sent a reset, which asyncio finds only behind all that came before."""
        connected: socket.socket = self.transport.get_extra_info("socket")
        return bool(connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _ask(self) -> None:
        """Send an interim response, which any client of HTTP/1.1 discards (RFC 9110, section 15.2).

        HTTP/1.0 has no such thing: there a client's silence is taken for consent.
        """
        if not self.cycle.response_started and self.scope["http_version"] != "1.0":
            probe = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self.transport.write(self.conn.send(probe) or b"")
        self._probe(0)

    def _probe(self, looks: int) -> None:
        """Look whether a client that has closed its side has answered with a reset by now."""
        if self._is_reset():
            self.transport.abort()
            return
        pause = PROBE_SECONDS[min(looks, len(PROBE_SECONDS) - 1)]
        self._probe_timer = self.loop.call_later(pause, self._probe, looks + 1)

"""A client's connection, on which requests are answered one at a time.

A connection counts against the limit of `Connections` until it is closed. The costs that a client can cause
before the application is involved are limited here: the head (seconds, bytes, fields), the framing of the
body, the rest of a body that is not needed, pipelined requests, and an answer that the client does not read.
"""

import asyncio
import socket
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from service.api.connections import Connections
from service.api.dialects import is_probe
from service.api.errors import ERROR_CODE, SENT_STATUS, answer, identified
from service.api.exchange import CLOSE, CONTINUE, Exchange, base_scope, scope_of, start_of
from service.api.half_closed import HalfClosed
from service.api.head import Head, HeadReader, ProtocolError
from service.api.middleware.early import EarlyRefusal
from service.api.transport import LingeringTransport
from service.errors import NotReadyError

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 30.0
"""Time limit for a request's head, from its first byte or, if pipelined, from the previous answer."""
HELD_BYTES = 65_536
"""Received bytes that may wait to be processed; beyond that, reading is paused."""


class Connection(asyncio.Protocol):
    """One connection of uvicorn's server; the keep-alive timeout also applies to its first request."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        connections: Connections | None = None,
        early_refusal: EarlyRefusal | None = None,
        max_head_bytes: int = MAX_HEAD_BYTES,
    ) -> None:
        """Create a connection with uvicorn's arguments, the set of all connections, and our limits."""
        self.config, self.server_state, self.app_state = config, server_state, app_state
        self.loop = _loop or asyncio.get_running_loop()
        self.all = Connections() if connections is None else connections
        self.early_refusal = early_refusal
        self.transport: LingeringTransport
        self.exchange: Exchange | None = None
        """The request that is being received or answered, if there is one."""
        self.writable = asyncio.Event()
        """Set while more can be sent; cleared while the client does not read."""
        self.writable.set()
        self._heads = HeadReader(max_head_bytes)
        self._buffer = bytearray()  # received, but not processed
        self._is_reading, self._is_advancing = True, False
        self._held: Head | None = None  # of a request that waits in line
        self._is_in_line = self._is_next = self._is_pipelined = False
        self.is_probe = False
        """Whether the path of the last request, as it was sent, is that of a health check or of metrics."""
        self._seconds_in_line = 0.0
        self._has_client_ended = False  # a half-close: requests received before it are answered
        self._timer: asyncio.TimerHandle | None = None  # for what _waits_for says
        self._waits_for = ""  # "request", or the rest of its "head"
        self._half_closed: HalfClosed | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a complete request waits for its answer, or a part of that for its client to read it.

        A pipelined request counts if its whole body has been read ahead, and is not in chunks. Probes do not.
        """
        exchange, head = self.exchange, self._held
        if self.is_probe:
            return False
        if exchange is not None and exchange.is_received and not exchange.is_answered:
            return True
        is_held = head is not None and head.length is not None and len(self._buffer) >= head.length
        return is_held or not self.writable.is_set()

    @property
    def is_receiving(self) -> bool:
        """Whether a request is only partly received; it may already be answered."""
        return self.exchange is not None and not self.exchange.is_received

    @property
    def awaits_request(self) -> bool:
        """Whether a request, or the rest of one, may still arrive."""
        return self.exchange is None or not self.exchange.is_received

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and start the time limit for its first request."""
        transport.set_write_buffer_limits(0)  # `writable` says whether all is sent
        self.transport = LingeringTransport(transport, lambda: self.is_receiving)
        self._base = base_scope(transport)
        self._socket: socket.socket = transport.get_extra_info("socket")
        self.server_state.connections.add(self)  # type: ignore[arg-type]
        self._watch()
        self.all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Unregister the connection, and cancel its timers and its request."""
        self.server_state.connections.discard(self)
        self.all.closed(self)
        for timer in (self._timer, self._half_closed):
            if timer is not None:
                timer.cancel()
        self._half_closed = None  # it refers to this connection
        if self.exchange is not None:
            self.exchange.cut()
            self.exchange = None
        self.writable.set()
        self._buffer.clear()
        self._held = None
        self.transport.lost()

    def data_received(self, data: bytes) -> None:
        """Process received bytes, unless the client has reset the connection."""
        self.transport.take(len(data))
        if self._is_reset():  # checked first, so that no work is done for a client that has gone
            self.transport.abort()
        if not self.transport.is_closing():
            self._buffer += data
            self.all.heard(self)
            self._process()

    def eof_received(self) -> bool:
        """Answer what has been received, since the client may only have stopped sending, as `nc -N` does.

        Whether it has gone altogether is found by probing: then it replies to anything sent with a reset.
        """
        self._has_client_ended = True
        self._process()
        if self.transport.is_closing():
            return False
        self._half_closed = HalfClosed(
            self.loop, self._is_reset, self._send_interim, self.transport.abort
        )
        return True

    def pause_writing(self) -> None:
        """Record that the client has yet to read what was sent."""
        self.writable.clear()
        self.transport.block()
        self.all.changed(self)

    def resume_writing(self) -> None:
        """Record that the client has read all that was sent so far."""
        self.writable.set()
        self.transport.unblock()
        self.all.changed(self)

    def answered(self) -> None:
        """Continue after an answer; the rest of its request is read for a while, so that it arrives."""
        self.server_state.total_requests += 1
        self._stop_clock()
        if self.exchange is not None and self.exchange.is_last:
            self.transport.close()
        elif self.is_receiving:
            self.transport.linger()
        if not self._is_advancing:  # otherwise the running _process goes on with what is next
            self._process()

    def go_on(self, seconds: float) -> None:
        """Leave the line, and begin with the request that has waited."""
        self._is_in_line, self._is_next, self._seconds_in_line = False, True, seconds
        if not self.transport.is_closing():
            self._process()

    def read_on(self) -> None:
        """Pause or resume reading, by how many received bytes wait; heads have a limit of their own."""
        exchange = self.exchange
        held = len(self._buffer) + (exchange.num_unread if exchange else 0)
        may_read = held <= HELD_BYTES or not (exchange or self._is_in_line)
        if may_read != self._is_reading and not self.transport.is_closing():
            self._is_reading = may_read
            (self.transport.resume_reading if may_read else self.transport.pause_reading)()

    def shutdown(self) -> None:
        """Close the connection after the current answer; refuse a request that is still incomplete."""
        if self._is_in_line:
            self.all.leave_line(self)
            self.go_on(0.0)
        if self.transport.is_closing():
            return
        exchange = self.exchange
        if exchange is None and self._buffer:
            message = "the service is stopping, and the request was not complete"
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, message, NotReadyError.code)
        elif exchange is None or exchange.is_answered:
            self.transport.close()
        else:
            exchange.is_last = True
            if not exchange.is_received and not exchange.has_started and exchange.task:
                # on the next turn: a task that is cancelled before it has started never answers
                self.loop.call_soon(exchange.task.cancel)

    def _process(self) -> None:
        """Process the received bytes as far as possible, then set the timer and reading accordingly."""
        self._is_advancing = True
        try:
            try:
                while not self.transport.is_closing() and self._advance():
                    pass
            except ProtocolError as error:
                self._refuse(error.status, error.message, error.code)
            if self._has_client_ended and not (self._is_in_line or self.transport.is_closing()):
                self._close_if_all_is_answered()
            self.all.changed(self)
            self._watch()
            self.read_on()
        except Exception:  # it may have no timer now, and would count as busy for ever
            self.transport.abort()
            raise
        finally:
            self._is_advancing = False

    def _advance(self) -> bool:
        """Process a head or a piece of a body; return whether more can be processed at once.

        Raises:
            ProtocolError: the bytes are not valid HTTP/1.1, or exceed a limit.
        """
        exchange = self.exchange
        if self._is_in_line:
            return False
        if exchange is None:
            head, self._held = self._held or self._heads.read(self._buffer), None
            if head is None:
                return False
            if not (self._is_next or self._may_begin(head)):
                self._held, self._is_in_line = head, True
                return False
            self._is_next = False
            self._begin(head)
            return True
        if not exchange.is_received:
            exchange.take(self._buffer)
            if not exchange.is_received:
                return False
            self.transport.stop_lingering()
            if not exchange.has_started:
                self.all.check(self)
        if not exchange.is_answered:
            return False
        self.exchange = None
        self._is_pipelined = bool(self._buffer)
        return True

    def _may_begin(self, head: Head) -> bool:
        """Return whether a request begins now; otherwise, `go_on` is called when it is its turn."""
        path, _, _ = head.target.partition(b"?")
        self.is_probe = is_probe(path.decode("latin-1"))
        line = self.all.line_of(self)
        if not self._is_pipelined and (head.has_body or line.may_begin(self.loop)):
            return True  # a request with a body waits after it, see `BodyLimit`
        if self.all.are_too_busy_for(self):
            return True  # to be refused when it is complete
        line.wait(self)
        return False

    def _begin(self, head: Head) -> None:
        """Start to answer the request whose head has been received."""
        scope = {**self._base, **scope_of(head), "state": self.app_state.copy()}
        self.exchange = exchange = Exchange(self, head, scope, self._seconds_in_line)
        self._seconds_in_line = 0.0
        refusal = None
        if self.early_refusal is not None and not self.all.are_too_busy_for(self):
            refusal = self.early_refusal.refusal(scope)
        if refusal and self.writable.is_set():
            exchange.answer(refusal)
            return
        app = refusal or self.config.loaded_app
        exchange.task = task = self.loop.create_task(exchange.run(app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def _refuse(self, status: HTTPStatus, message: str, code: str) -> None:
        """Answer with an error, unless an answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        exchange = self.exchange
        if exchange is None or not exchange.has_started:
            start = self._heads if exchange is None else exchange.head
            path = self._heads.path if exchange is None else exchange.scope["path"]
            response = answer(status, message, code, path=path)
            if exchange is not None:  # the application logs and counts it
                identified(response, exchange.scope)
                exchange.scope[ERROR_CODE], exchange.scope[SENT_STATUS] = code, status.value
            elif self.early_refusal is not None:
                self.early_refusal.note(response, path)
            fields = [*self.server_state.default_headers, *response.raw_headers, CLOSE]
            has_body = start.method != "HEAD"
            self.transport.begin_answer()
            self.transport.write(start_of(status, fields) + bytes(response.body) * has_body)
        if exchange is not None:  # wakes a task that waits for more of the request
            exchange.cut()
        if self._has_client_ended or (exchange is not None and exchange.is_received):
            self.exchange = None
            self.transport.close()
        else:
            self.transport.hang_up()
        self._watch()

    def _refuse_slow(self) -> None:
        message = f"Invalid request: its head was not complete after {HEAD_SECONDS:g} s"
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, message, "head_too_slow")

    def _close_if_all_is_answered(self) -> None:
        """Close a half-closed connection once all is answered; refuse an incomplete request."""
        if self.is_receiving or (self.exchange is None and self._buffer):
            message = "Invalid request: the connection was closed before it was complete"
            self._refuse(HTTPStatus.BAD_REQUEST, message, "request_incomplete")
        elif self.exchange is None:
            self.transport.close()

    def _watch(self) -> None:
        """Set the timer for what is awaited: a request, or the rest of a head."""
        waits_for = ""
        if self.exchange is None and not (self._is_in_line or self.transport.is_closing()):
            waits_for = "head" if self._buffer else "request"
        if waits_for == self._waits_for:
            return
        self._stop_clock()
        self._waits_for = waits_for
        if waits_for == "head":
            self._timer = self.loop.call_later(HEAD_SECONDS, self._refuse_slow)
        elif waits_for == "request":
            seconds = self.config.timeout_keep_alive
            self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_clock(self) -> None:
        self._waits_for = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_reset(self) -> bool:
        """Return whether the client has sent a reset; asyncio reports it only after all earlier data."""
        return bool(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _send_interim(self) -> None:
        """Send an interim response, unless the answer has begun; HTTP/1.0 has none."""
        exchange = self.exchange
        head = exchange.head if exchange else self._held
        if head and head.version != "1.0" and not (exchange and exchange.has_started):
            self.transport.write(CONTINUE)

"""A client's connection, bounded in time, in size and in number: requests are answered one at a time.

A connection holds a place among `Connections` until it is closed. What it may cost before anybody has looked
at its request is bounded here: the head (seconds, bytes, fields), the framing of the body, the rest of a body
that nobody wants, what comes behind a request, and an answer that its client does not read.
"""

import asyncio
import socket
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import uvicorn
from starlette.types import Scope
from uvicorn.server import ServerState

from service.api.connections import Connections
from service.api.errors import ERROR_CODE, answer, identified
from service.api.exchange import CLOSE, CONTINUE, Exchange, Field, start_of
from service.api.head import Head, HeadReader, ProtocolError
from service.api.middleware.context import identity_of
from service.api.middleware.early import EarlyRefusal
from service.api.transport import LingeringTransport
from service.errors import NotReadyError

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 30.0
"""In which a request's head must arrive, counted from its first byte, or from the answer before it."""
WRITE_SECONDS = 30.0
"""For which, in all, an answer may wait for its client to read on."""
HELD_BYTES = 65_536
"""That may have come and wait; beyond, no more is read."""
QUIET_SECONDS = 0.05
"""After a client has closed its side: for which the answer may come before the client is looked for."""
PROBE_SECONDS = (0.0, 0.002, 0.01, 0.05, 0.25)
"""From then on: the pauses between looks at whether it has closed the other, too."""
ASKED_AT = (0, 6, 14, 46, 126)
"""Looks before which it is sent something, up to 30 s later: some clients take no more interim responses."""


class Connection(asyncio.Protocol):
    """One connection of uvicorn's server. One on which nothing was ever sent is closed as an idle one is."""

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
        """As uvicorn makes it; `connections` are all that are open, `early_refusal` refuses what it can."""
        if not config.loaded:
            config.load()
        self.config, self.server_state, self.app_state = config, server_state, app_state
        self.loop = _loop or asyncio.get_running_loop()
        self.all = Connections() if connections is None else connections
        self.early_refusal = early_refusal
        self.transport: LingeringTransport
        self.exchange: Exchange | None = None
        """The request that is not yet received, or not yet answered."""
        self.writable = asyncio.Event()
        """Set while the client reads what it is sent."""
        self.writable.set()
        self._heads = HeadReader(max_head_bytes)
        self._buffer = bytearray()  # what has come and is not taken
        self._is_reading, self._is_going_on = True, False
        self._has_refused_in_turn = False  # without a task; a second refusal waits for its turn
        self._has_client_ended = False  # closed its side: what it has sent is answered
        self._timer: asyncio.TimerHandle | None = None  # of what is waited for
        self._waits_for = ""  # "request", or the rest of its "head"
        self._write_timer: asyncio.TimerHandle | None = None
        self._probe_timer: asyncio.TimerHandle | None = None
        self._unread_since = 0.0
        self._unread_seconds = 0.0  # of the answer so far, while its client did not read

    @property
    def default_fields(self) -> list[Field]:
        """The fields of every answer: its date."""
        return self.server_state.default_headers

    @property
    def is_receiving(self) -> bool:
        """Whether more of a request may come, although it may be answered already."""
        return self.exchange is not None and not self.exchange.is_received

    @property
    def awaits_request(self) -> bool:
        """Whether a request, or the rest of one, may still come."""
        return self.exchange is None or not self.exchange.is_received

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; wait for a first byte as long as for the next request."""
        self.transport = LingeringTransport(transport, lambda: self.is_receiving)
        self._base = _base_scope(transport)
        self._socket: socket.socket = transport.get_extra_info("socket")
        self.server_state.connections.add(self)  # type: ignore[arg-type]
        self._watch()
        self.all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Give the place back and leave no clock behind."""
        self.server_state.connections.discard(self)
        self.all.closed(self)
        for timer in (self._timer, self._write_timer, self._probe_timer):
            if timer is not None:
                timer.cancel()
        if self.exchange is not None:
            self.exchange.cut()
            self.exchange = None
        self.writable.set()
        self._buffer.clear()
        self.transport.lost()

    def data_received(self, data: bytes) -> None:
        """Take in what has come; watch the clock while a head is incomplete."""
        self.transport.take(len(data))
        if self._is_reset():  # before it costs anything: its client has gone already
            self.transport.abort()
        if not self.transport.is_closing():
            self._buffer += data
            self._go_on()

    def eof_received(self) -> bool:
        """Go on with an answer: the client may have closed only its own side, as `nc -N` does.

        One that has gone altogether answers with a reset when it is sent something.
        """
        self._has_client_ended = True
        self._go_on()
        if self.transport.is_closing():
            return False
        self._probe_timer = self.loop.call_later(QUIET_SECONDS, self._probe, 0)
        return True

    def pause_writing(self) -> None:
        """The client does not read: only so long."""
        self.writable.clear()
        self._unread_since = self.loop.time()
        left = max(0.0, WRITE_SECONDS - self._unread_seconds)
        self._write_timer = self.loop.call_later(left, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        self.writable.set()
        if self._write_timer is not None:
            self._unread_seconds += self.loop.time() - self._unread_since
            self._write_timer.cancel()
            self._write_timer = None

    def answered(self) -> None:
        """An answer is out; what is left of its request's body is read for a while, so that it arrives."""
        self._unread_seconds = 0.0
        self.server_state.total_requests += 1
        self.all.answered(self)
        self._stop_clock()
        if self.exchange is not None and self.exchange.is_last:
            self.transport.close()
        elif self.is_receiving:
            self.transport.linger()
        if not self._is_going_on:  # else it is seen there
            self._go_on()

    def read_on(self) -> None:
        """Read from the socket exactly while there is room for what comes; a head has its own limit."""
        exchange = self.exchange
        may_read = exchange is None or len(self._buffer) + exchange.num_unread <= HELD_BYTES
        if may_read != self._is_reading and not self.transport.is_closing():
            self._is_reading = may_read
            (self.transport.resume_reading if may_read else self.transport.pause_reading)()

    def shutdown(self) -> None:
        """Let the request that is being answered be the last; one that is not complete by now is refused."""
        exchange = self.exchange
        if self.transport.is_closing():
            return
        if exchange is None and self._buffer:
            message = "the service is stopping, and the request was not complete"
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, message, NotReadyError.code)
        elif exchange is None or exchange.is_answered:
            self.transport.close()
        else:
            exchange.is_last = True
            if not exchange.is_received and not exchange.has_started and exchange.task:
                # once it has begun: a task that is cancelled before never answers
                self.loop.call_soon(exchange.task.cancel)

    def _go_on(self) -> None:
        """Do with what has come all that is due, and see what is to be waited for."""
        self._is_going_on, self._has_refused_in_turn = True, False
        try:
            while not self.transport.is_closing() and self._advance():
                pass
        except ProtocolError as error:
            self._refuse(error.status, error.message, error.code)
        finally:
            self._is_going_on = False
        if self._has_client_ended and not self.transport.is_closing():
            self._end_if_all_is_answered()
        exchange = self.exchange
        if exchange is not None and exchange.is_received and not exchange.is_answered:
            self.all.received(self)
        self._watch()
        self.read_on()

    def _advance(self) -> bool:
        """Take a head, or the rest of a body; whether there may be more to do at once.

        Raises:
            ProtocolError: what comes is no HTTP/1.1, or more than may come.
        """
        exchange = self.exchange
        if exchange is None:
            head = self._heads.read(self._buffer)
            if head is not None:
                self._begin(head)
            return head is not None
        if not exchange.is_received:
            exchange.take(self._buffer)
            if not exchange.is_received:
                return False
            self.transport.stop_lingering()
        if not exchange.is_answered:
            return False
        self.exchange = None
        if self.all.are_winding_down:
            self.transport.close()
        return True

    def _begin(self, head: Head) -> None:
        """Have a request answered."""
        raw_path, _, query = head.target.partition(b"?")
        scope: Scope = {
            **self._base,
            "http_version": head.version,
            "method": head.method,
            "path": unquote(raw_path.decode("latin-1")),
            "raw_path": raw_path,
            "query_string": query,
            "headers": head.headers,
            "request_id": identity_of(head.headers),
            "state": self.app_state.copy(),
        }
        self.exchange = exchange = Exchange(self, head, scope)
        exchange.is_last |= self.all.are_winding_down
        refusal = self.early_refusal and self.early_refusal.refusal(scope)
        if refusal and not self._has_refused_in_turn and self.writable.is_set():
            self._has_refused_in_turn = True
            exchange.answer(refusal)
            return
        app = refusal or self.all.app_for(scope["path"], self.config.loaded_app)
        exchange.task = task = self.loop.create_task(exchange.run(app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def _refuse(self, status: HTTPStatus, message: str, code: str) -> None:
        """Answer, where no answer has begun, and close."""
        if self.transport.is_closing():
            return
        exchange = self.exchange
        if exchange is None or not exchange.has_started:
            start = self._heads if exchange is None else exchange.head
            path = self._heads.path if exchange is None else exchange.scope["path"]
            response = answer(status, message, code, path=path)
            if exchange is not None:  # which the application notes
                identified(response, exchange.scope)
                exchange.scope.setdefault(ERROR_CODE, code)
            elif self.early_refusal is not None:
                self.early_refusal.note(response, path)
            fields = [*self.default_fields, *response.raw_headers, CLOSE]
            has_body = start.method != "HEAD"
            self.transport.write(start_of(status, fields) + bytes(response.body) * has_body)
        if exchange is not None:  # whoever waits for more of the request waits in vain
            exchange.cut()
        if self._has_client_ended:
            self.exchange = None
            self.transport.close()
        else:
            self.transport.hang_up()
        self._watch()

    def _refuse_slow(self) -> None:
        message = f"Invalid request: after {HEAD_SECONDS:g} s its head was not complete"
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, message, "head_too_slow")

    def _end_if_all_is_answered(self) -> None:
        """Close a connection of which nothing more can come; a request that has only begun is told so."""
        if self.is_receiving or (self.exchange is None and self._buffer):
            message = "Invalid request: the connection was closed before it was complete"
            self._refuse(HTTPStatus.BAD_REQUEST, message, "request_incomplete")
        elif self.exchange is None:
            self.transport.close()

    def _watch(self) -> None:
        """Have the clock run for what is waited for: a request, or the rest of a head that has begun."""
        waits_for = ""
        if self.exchange is None and not self.transport.is_closing():
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
        """Whether the client has sent a reset, which asyncio finds only behind all that came before."""
        return bool(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _probe(self, looks: int) -> None:
        """Look whether a client that has closed its side has gone: then it answers with a reset.

        Now and then it is sent an interim response, which any client of HTTP/1.1 discards (RFC 9110, section
        15.2). HTTP/1.0 has no such thing: there a client's silence is taken for consent.
        """
        if self._is_reset():
            self.transport.abort()
            return
        exchange = self.exchange
        may_ask = exchange and not exchange.has_started and exchange.head.version != "1.0"
        if may_ask and looks in ASKED_AT:
            self.transport.write(CONTINUE)
        pause = PROBE_SECONDS[min(looks, len(PROBE_SECONDS) - 1)]
        self._probe_timer = self.loop.call_later(pause, self._probe, looks + 1)


def _base_scope(transport: asyncio.Transport) -> Scope:
    """What is the same for all requests of a connection."""
    client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
        "client": tuple(client[:2]) if isinstance(client, tuple) else None,
        "server": tuple(server[:2]) if isinstance(server, tuple) else None,
        "root_path": "",
    }

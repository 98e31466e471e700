"""A request and its answer, translated between HTTP/1.1 and ASGI."""

import asyncio
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from service.api import client_state
from service.api.body import body_of
from service.api.client_state import ClientState
from service.api.errors import internal_error
from service.api.head import Head
from service.api.middleware.context import identity_of

if TYPE_CHECKING:
    from service.api.connection import Connection

logger = logging.getLogger(__name__)

CLOSE = (b"connection", b"close")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
Field = tuple[bytes, bytes]
_CHUNKED = (b"transfer-encoding", b"chunked")
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus
}


class Exchange:
    """One request of a connection, until it is completely received and answered."""

    def __init__(
        self, connection: "Connection", head: Head, scope: Scope, seconds_in_line: float = 0.0
    ) -> None:
        """Begin with a request whose head has been received, and has waited in line."""
        self.connection, self.head, self.scope = connection, head, scope
        self.task: asyncio.Task[None] | None = None
        """Runs the application."""
        self.is_last = head.is_last
        """Whether the connection is closed after the answer."""
        self.is_received = False
        self.has_started = False
        """Whether the answer has begun."""
        self.is_answered = False
        self._client = scope[client_state.KEY] = ClientState(
            self._wait_in_line if head.has_body else None, seconds_in_line
        )
        self._may_client_send = not head.expects_continue  # its body
        self._body = body_of(head)
        self._unread = bytearray()
        self._news = asyncio.Event()  # set when `receive` has something to return
        self._start = b""  # the answer's head, until it is written
        self._remaining: int | None = None
        """Bytes of the answer's body to be written; None if it is sent in chunks."""
        self._has_body = head.method != "HEAD"
        self._is_chunked = False

    @property
    def num_unread(self) -> int:
        """Bytes of the body that were received, but not read by the application."""
        return len(self._unread)

    @property
    def num_held(self) -> int:
        """Bytes of the answer that are in memory, but not written yet."""
        return self._client.num_held

    def take(self, buffer: bytearray) -> None:
        """Remove the bytes of this body from the buffer; once the answer is written, they are discarded.

        Raises:
            ProtocolError: the body's chunks are malformed, or exceed a limit.
        """
        piece = self._body.take(buffer)
        self.is_received = self._client.has_sent_all = self._body.is_complete
        if self.is_answered:
            return
        self._unread += piece
        if piece or self.is_received:
            self._may_client_send = True
            self._news.set()

    def cut(self) -> None:
        """Record that the connection has ended: nothing more is received, and nothing can be sent."""
        self._client.leave()
        self._news.set()

    def answer(self, response: Response) -> None:
        """Answer at once, without waiting for the rest of the body."""
        self._begin(response.status_code, list(response.raw_headers))
        self._write(bytes(response.body), False)

    async def run(self, app: ASGIApp) -> None:
        """Run `app`; if it fails before its answer has started, answer with an internal error.

        If the answer remains incomplete, the connection is closed.
        """
        try:
            await app(self.scope, self.receive, self.send)
            if not self.is_answered and not self._client.has_left:
                raise RuntimeError("the application has not completed its answer")
        except asyncio.CancelledError:
            pass
        except Exception as error:
            logger.error("unexpected error", exc_info=error)
            if not self.has_started:
                await self._fail()
        finally:
            self.task = None
            if not self.is_answered:
                self.connection.transport.close()

    async def receive(self) -> Message:
        """Return the next piece of the body, or `http.disconnect`; this is ASGI's `receive`."""
        if not self._may_client_send and not self.connection.transport.is_closing():
            self._may_client_send = True
            self.connection.transport.write(CONTINUE)
        await self._news.wait()
        if self._client.has_left or self.is_answered:  # the event stays set, for further calls
            return {"type": "http.disconnect"}
        self._news.clear()
        body = bytes(self._unread)
        self._unread.clear()
        self.connection.read_on()
        return {"type": "http.request", "body": body, "more_body": not self.is_received}

    async def _wait_in_line(self, client: ClientState) -> float:
        line = self.connection.all.line_of(self.connection)
        return await line.turn(client.when_left)

    async def send(self, message: Message) -> None:
        """Write a part of the answer; this is ASGI's `send`.

        The head is written with the first piece of the body, as ASGI allows.

        Raises:
            RuntimeError: the message is not allowed here, or the body's length is wrong.
            ValueError: a header field contains a line break.
        """
        await self.connection.writable.wait()
        if self._client.has_left:
            return
        if self.is_answered or message["type"] != _expected_type(self.has_started):
            raise RuntimeError(f"{message['type']} is not allowed here")
        if self.has_started:
            self._write(message.get("body", b""), message.get("more_body", False))
        else:
            self._begin(message["status"], list(message.get("headers", ())))

    def _begin(self, status: int, fields: list[Field]) -> None:
        """Build the head, which determines how the body is delimited (RFC 9112, section 6.3)."""
        self.connection.transport.begin_answer()
        self.is_last |= self.connection.all.are_winding_down
        given_fields = {name.lower(): value for name, value in fields}
        self._remaining, self._is_chunked = None, False
        self._has_body &= status not in _BODILESS
        if b"content-length" in given_fields:
            self._remaining = int(given_fields[b"content-length"])
        elif self._has_body and self.head.version == "1.0":
            self.is_last = True
        elif self._has_body:
            self._is_chunked = True
            fields.append(_CHUNKED)
        if given_fields.get(b"connection", b"").lower() == b"close" or not self._may_client_send:
            self.is_last = True  # a client that got no 100 Continue may send its body or not
        if self.is_last and b"connection" not in given_fields:
            fields.append(CLOSE)
        self._start = start_of(status, [*self.connection.server_state.default_headers, *fields])
        self.has_started = True

    def _write(self, body: bytes, has_more: bool) -> None:
        if self._remaining is not None and self._has_body:
            self._remaining -= len(body)
            if self._remaining < 0 or (self._remaining and not has_more):
                raise RuntimeError("the answer's body has another length than its head says")
        if not self._has_body:
            body = b""
        elif self._is_chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (
                b"" if has_more else b"0\r\n\r\n"
            )
        self.connection.transport.write(self._start + body)
        self._start = b""
        if not has_more:
            self.is_answered = True
            self._unread.clear()  # otherwise the rest of the body might never be read
            self._news.set()
            self.connection.answered()

    async def _fail(self) -> None:
        response = internal_error(self.scope)
        response.headers["connection"] = "close"
        await response(self.scope, self.receive, self.send)


def start_of(status: int, fields: Iterable[Field]) -> bytes:
    """Return the bytes of an answer's head.

    Raises:
        ValueError: a field contains a line break.
    """
    lines = [b"%b: %b\r\n" % field for field in fields]
    block = b"".join(lines)
    if block.count(b"\n") != len(lines) or block.count(b"\r") != len(lines):
        raise ValueError("a header field has a line break")
    return _STATUS_LINES[status] + block + b"\r\n"


def _expected_type(has_started: bool) -> str:
    return "http.response.body" if has_started else "http.response.start"


def scope_of(head: Head) -> Scope:
    """Return the part of the ASGI scope that is a request's own."""
    raw_path, _, query = head.target.partition(b"?")
    return {
        "http_version": head.version,
        "method": head.method,
        "path": unquote(raw_path.decode("latin-1")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": head.headers,
        "request_id": identity_of(head.headers),
    }


def base_scope(transport: asyncio.Transport) -> Scope:
    """Return the part of the ASGI scope that all requests of a connection share."""
    client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
        "client": tuple(client[:2]) if isinstance(client, tuple) else None,
        "server": tuple(server[:2]) if isinstance(server, tuple) else None,
        "root_path": "",
    }

"""A request and its answer, as ASGI has them."""

import asyncio
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from service.api import client_state
from service.api.body import body_of
from service.api.client_state import ClientState
from service.api.errors import internal_error
from service.api.head import Head

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
    """One request of a connection, until it has come as a whole and its answer is out."""

    def __init__(self, connection: "Connection", head: Head, scope: Scope) -> None:
        """Its head has come."""
        self.connection, self.head, self.scope = connection, head, scope
        self.task: asyncio.Task[None] | None = None
        """That answers it."""
        self.is_last = head.is_last
        """Whether the connection ends behind it."""
        self.is_received = False
        self.has_started = False
        """Whether the answer has."""
        self.is_answered = False
        self._client = scope[client_state.KEY] = ClientState()
        self._may_send = not head.expects_continue  # the client its body
        self._body = body_of(head)
        self._unread = bytearray()
        self._news = asyncio.Event()
        self._start = b""
        self._left: int | None = (
            None  # of the answer's body, in bytes; None where it comes in chunks
        )
        self._has_body = head.method != "HEAD"
        self._is_chunked = False

    @property
    def num_unread(self) -> int:
        """Bytes of the body that have come and were not read."""
        return len(self._unread)

    def take(self, buffer: bytearray) -> None:
        """Take out of the buffer what belongs to the body; nobody reads it once the answer is out.

        Raises:
            ProtocolError: it is wrong.
        """
        piece = self._body.take(buffer)
        self.is_received = self._client.has_sent_all = self._body.is_complete
        if self.is_answered:
            return
        self._unread += piece
        if piece or self.is_received:
            self._may_send = True
            self._news.set()

    def cut(self) -> None:
        """Nothing more comes, and nothing can be sent."""
        self._client.leave()
        self._news.set()

    def answer(self, response: Response) -> None:
        """Answer at once, whatever of the body is still to come."""
        self._begin(response.status_code, list(response.raw_headers))
        self._write(bytes(response.body), False)

    async def run(self, app: ASGIApp) -> None:
        """Have `app` answer; where it does not, the client is told what can still be told."""
        try:
            await app(self.scope, self.receive, self.send)
            if not self.is_answered and not self._client.has_left:
                raise RuntimeError("the application has not completed its answer")
        except asyncio.CancelledError:
            self.connection.transport.close()
        except Exception as error:
            logger.error("a request was not answered", exc_info=error)
            if self.has_started:
                self.connection.transport.close()
            else:
                await self._fail()
        finally:
            self.task = None

    async def receive(self) -> Message:
        """What has come of the body, or that nothing will be read any more."""
        if not self._may_send and not self.connection.transport.is_closing():
            self._may_send = True
            self.connection.transport.write(CONTINUE)
        await self._news.wait()
        if self._client.has_left or self.is_answered:  # which whoever asks again is told again
            return {"type": "http.disconnect"}
        self._news.clear()
        body = bytes(self._unread)
        self._unread.clear()
        self.connection.read_on()
        return {"type": "http.request", "body": body, "more_body": not self.is_received}

    async def send(self, message: Message) -> None:
        """Write the answer; its head goes out with the first of its body, as ASGI allows."""
        await self.connection.writable.wait()
        if self._client.has_left:
            return
        if self.is_answered or message["type"] != _next_of(self.has_started):
            raise RuntimeError(f"{message['type']} does not come here")
        if self.has_started:
            self._write(message.get("body", b""), message.get("more_body", False))
        else:
            self._begin(message["status"], list(message.get("headers", ())))

    def _begin(self, status: int, fields: list[Field]) -> None:
        """Make the head, which says how the body's end is found (RFC 9112, section 6.3)."""
        given = {name.lower(): value for name, value in fields}
        self._left, self._is_chunked = None, False
        self._has_body &= status not in _BODILESS
        if b"content-length" in given:
            self._left = int(given[b"content-length"])
        elif self._has_body and self.head.version == "1.0":
            self.is_last = True
        elif self._has_body:
            self._is_chunked = True
            fields.append(_CHUNKED)
        if given.get(b"connection", b"").lower() == b"close" or not self._may_send:
            self.is_last = True  # who was never told to send a body may send it or not
        if self.is_last and b"connection" not in given:
            fields.append(CLOSE)
        self._start = start_of(status, [*self.connection.default_fields, *fields])
        self.has_started = True

    def _write(self, body: bytes, has_more: bool) -> None:
        if self._left is not None and self._has_body:
            self._left -= len(body)
            if self._left < 0 or (self._left and not has_more):
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
            self._unread.clear()  # which would keep the rest from being read
            self._news.set()
            self.connection.answered()

    async def _fail(self) -> None:
        response = internal_error(self.scope)
        response.headers["connection"] = "close"
        await response(self.scope, self.receive, self.send)


def start_of(status: int, fields: Iterable[Field]) -> bytes:
    """An answer's head.

    Raises:
        ValueError: a field would end its line.
    """
    lines = [b"%b: %b\r\n" % field for field in fields]
    block = b"".join(lines)
    if block.count(b"\n") != len(lines) or block.count(b"\r") != len(lines):
        raise ValueError("a header field has a line break")
    return _STATUS_LINES[status] + block + b"\r\n"


def _next_of(has_started: bool) -> str:
    return "http.response.body" if has_started else "http.response.start"

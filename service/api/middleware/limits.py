"""Limits on the size of a request's head and on the size and time of its body."""

import asyncio
from http import HTTPStatus
from itertools import takewhile

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import client_state
from service.api.errors import CLIENT_LEFT, answer
from service.errors import ClientLeftError

Refusal = tuple[int, str, str]
"""Status, message and code."""
BODY_SECONDS, SAFE_SECONDS = 30.0, 2.0
"""Time limit for a request's body to arrive, and the time in which it is not refused in favour of others."""
_RELEASE = "release_body"
"""The key of a function in a request's scope, see `release`."""
SMALL_BODY_BYTES = 16 * 1024
"""Bodies up to this size are accepted regardless of how much memory others take."""


class HeadLimit:
    """Answers 414 if a request's address has more than `limit` bytes, and 431 if its header fields do."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        """Wrap `app`."""
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        address = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        fields = sum(len(name) + len(value) for name, value in scope["headers"])
        path, limit = scope["path"], self.limit
        if address > limit:
            message = f"Invalid request: the address has {address} bytes, the limit is {limit}"
            status, code = HTTPStatus.REQUEST_URI_TOO_LONG, "address_too_long"
        elif fields > limit:
            message = (
                f"Invalid request: the header fields have {fields} bytes, the limit is {limit}"
            )
            status, code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"
        else:
            await self.app(scope, receive, send)
            return
        await answer(status, message, code, path=path)(scope, receive, send)


class BodyLimit:
    """Receives a request's body before the application runs, and refuses one that is too large or too slow.

    The request then waits until it is its turn to begin.

    A body of more than `limit` or `total` bytes gets 413, whether or not its length was announced; one that
    takes longer than `BODY_SECONDS` gets 408. Bodies stay in memory until they are parsed, see `release`. A
    body that would raise their sum above `total` bytes gets 429, unless it has at most `SMALL_BODY_BYTES`, or
    there is room once others that have not arrived within `SAFE_SECONDS` get 408.
    """

    def __init__(self, app: ASGIApp, limit: int, total: int = 64 * 1024 * 1024) -> None:
        """Wrap `app`."""
        self.app, self.limit, self.total = app, min(limit, total), total
        self.held = 0
        self._arriving: dict[_Body, asyncio.Timeout] = {}  # the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        size = int(announced[:19]) if announced.isdigit() else 0
        if refusal := self._refusal_by_size(size):
            await _refuse(refusal, scope, receive, send)
            return
        body, client = _Body(), scope.get(client_state.KEY)
        # a time limit costs as much as the rest of this middleware
        read = self._read if client and client.has_sent_all else self._read_in_time
        try:
            refusal = await read(body, receive)
            if client and not refusal:
                await client.wait_for_turn()
                refusal = _client_left(body) if client.has_left else None
            if refusal:
                self._drop(body)
                await _refuse(refusal, scope, receive, send)
                return

            async def replay() -> Message:
                if body.is_given:
                    return await receive()
                return {"type": "http.request", "body": body.give(), "more_body": False}

            async def send_and_release(message: Message) -> None:
                if message["type"] == "http.response.start":  # no route reads its body later
                    self._drop(body)
                await send(message)

            scope[_RELEASE] = lambda: self._release(body)
            await self.app(scope, replay, send_and_release)
        finally:
            self._release(body)

    def _drop(self, body: "_Body") -> None:
        """Keep nothing of a body while its answer is sent, which may wait for the client to read."""
        self._release(body)
        body.give()

    def _release(self, body: "_Body") -> int:
        """Count a body no longer; return how many bytes of it were counted."""
        released, body.held = body.held, 0
        self.held -= released
        return released

    async def _read_in_time(self, body: "_Body", receive: Receive) -> Refusal | None:
        """Receive a body within the time limit; return a refusal if it is not accepted."""
        try:
            async with asyncio.timeout(BODY_SECONDS) as limit:
                self._arriving[body] = limit
                return await self._read(body, receive)
        except TimeoutError:
            seconds = asyncio.get_running_loop().time() - body.started
            return (
                HTTPStatus.REQUEST_TIMEOUT,
                f"Invalid request: only {body.size} bytes of the body arrived within {seconds:.0f} s",
                "body_too_slow",
            )
        finally:
            self._arriving.pop(body, None)

    async def _read(self, body: "_Body", receive: Receive) -> Refusal | None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return _client_left(body)
            piece = len(message.get("body", b""))
            if refusal := self._refusal_by_size(body.size + piece, body):
                return refusal
            body.pieces.append(message.get("body", b""))
            body.size += piece
            body.held += piece
            self.held += piece
            if not message.get("more_body", False):
                return None

    def _refusal_by_size(self, size: int, body: "_Body | None" = None) -> Refusal | None:
        """Return a refusal if a body of `size` bytes is too large, some of which may have arrived."""
        if size > self.limit:
            message = (
                f"Invalid request: the body has at least {size} bytes, the limit is {self.limit}"
            )
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, "body_too_large"
        if size <= SMALL_BODY_BYTES:
            return None
        num_counted = body.held if body else 0
        self._make_room(self.held - num_counted + size - self.total, body)
        num_others = self.held - num_counted
        if num_others + size > self.total:
            message = (
                f"Slowdown: request bodies in memory would exceed {self.total} bytes "
                f"({num_others} held, {size} more)"
            )
            return HTTPStatus.TOO_MANY_REQUESTS, message, "bodies_too_large"
        return None

    def _make_room(self, excess: int, wanted: "_Body | None") -> None:
        """Give up others that arrive slowly, the oldest first, if that makes room for `excess` bytes."""
        if excess <= 0:
            return
        now = asyncio.get_running_loop().time()
        slow = list(takewhile(lambda body: now - body.started >= SAFE_SECONDS, self._arriving))
        slow = [body for body in slow if body is not wanted]
        if sum(body.held for body in slow) < excess:
            return
        for body in slow:
            if excess <= 0:
                break
            excess -= self._release(body)
            limit = self._arriving.pop(body)
            if not limit.expired():  # its task may be about to end
                limit.reschedule(now)


def release(scope: Scope) -> None:
    """Record that the body of a request has been parsed, so that it is no longer in memory."""
    if _RELEASE in scope:
        scope[_RELEASE]()


def _client_left(body: "_Body") -> Refusal:
    """Return a refusal for log and metrics only."""
    reason = f"the client closed its connection after {body.size} bytes of body"
    return CLIENT_LEFT, reason, ClientLeftError.code


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request and close its connection, on which the rest of the body would still arrive."""
    response = answer(*refusal, path=scope["path"])
    response.headers["connection"] = "close"
    await response(scope, receive, send)


class _Body:
    """The received part of a body."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_given = False
        self.size = self.held = 0
        """Bytes that have arrived, and those of them that count towards the sum."""
        self.started = asyncio.get_running_loop().time()

    def give(self) -> bytes:
        """Return the whole body, and keep nothing of it."""
        pieces, self.pieces, self.is_given = self.pieces, [], True
        return b"".join(pieces)

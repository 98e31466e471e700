"""Limits on a request's head and body."""

import asyncio
from collections import deque
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import client_state
from service.api.errors import answer

Refusal = tuple[int, str, str]
"""Status, message and code."""
BODY_SECONDS = 30.0
"""In which a request's body must arrive."""
SMALL_BODY_BYTES = 16 * 1024
"""A body that is taken in however much others hold."""


class HeadLimit:
    """Answers 414 where a request's address has more than `limit` bytes, 431 where its header fields have."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        """Wrap `app`."""
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
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
    """Takes in a request's body before anybody looks at it, and refuses what is too large or too slow.

    A body of more than `limit` bytes gets 413, whether or not its length was announced. Bodies are held until
    their requests end; where that would be more than `total` bytes together, one of more than
    `SMALL_BODY_BYTES` gets 429. Small ones always find room.
    """

    def __init__(self, app: ASGIApp, limit: int, total: int = 64 * 1024 * 1024) -> None:
        """Wrap `app`."""
        self.app, self.limit, self.total = app, limit, total
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        size = int(announced[:19]) if announced.isdigit() else 0
        if refusal := self._over(size, 0):
            await _refuse(refusal, scope, receive, send)
            return
        taken, client = _Taken(), scope.get(client_state.KEY)
        # a time limit costs as much as all the rest of this
        take_in = self._take_in if client and client.has_sent_all else self._take_in_in_time
        try:
            if refusal := await take_in(taken, receive):
                await _refuse(refusal, scope, receive, send)
                return

            async def replay() -> Message:
                return taken.messages.popleft() if taken.messages else await receive()

            await self.app(scope, replay, send)
        finally:
            self.held -= taken.size

    async def _take_in_in_time(self, taken: "_Taken", receive: Receive) -> Refusal | None:
        """Take in a body within the time limit; says what is wrong with it, if anything is."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._take_in(taken, receive)
        except TimeoutError:
            return (
                HTTPStatus.REQUEST_TIMEOUT,
                f"Invalid request: only {taken.size} bytes of the body arrived within {BODY_SECONDS:g} s",
                "body_too_slow",
            )

    async def _take_in(self, taken: "_Taken", receive: Receive) -> Refusal | None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":  # for the books: nobody reads it
                return (
                    HTTPStatus.BAD_REQUEST,
                    f"Invalid request: the connection was closed after {taken.size} bytes of body",
                    "body_incomplete",
                )
            piece = len(message.get("body", b""))
            if refusal := self._over(taken.size + piece, taken.size):
                return refusal
            taken.messages.append(message)
            taken.size += piece
            self.held += piece
            if not message.get("more_body", False):
                return None

    def _over(self, size: int, own: int) -> Refusal | None:
        """Why a body of `size` bytes, `own` of which are held, cannot be taken in; None if it can."""
        if size > self.limit:
            message = (
                f"Invalid request: the body has at least {size} bytes, the limit is {self.limit}"
            )
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, "body_too_large"
        others = self.held - own
        if size > SMALL_BODY_BYTES and others + size > self.total:
            message = (
                f"Slowdown: request bodies in memory would exceed {self.total} bytes "
                f"({others} held, {size} more)"
            )
            return HTTPStatus.TOO_MANY_REQUESTS, message, "bodies_too_large"
        return None


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """The connection ends: the body that is not wanted would be taken for the next request."""
    response = answer(*refusal, path=scope["path"])
    response.headers["connection"] = "close"
    await response(scope, receive, send)


class _Taken:
    """What has come of a body."""

    def __init__(self) -> None:
        self.messages: deque[Message] = deque()
        self.size = 0

"""Around every request: an id, a clock, the books, and limits on its size and number. Pure ASGI."""

import asyncio
import logging
import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from http import HTTPMethod, HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.errors import answer, is_deepl
from service.metrics import Metrics

logger = logging.getLogger("service.access")

request_id: ContextVar[str] = ContextVar("request_id", default="-")
_METHODS = frozenset(HTTPMethod)  # a label of the metrics: clients can make up any number of others
_ACCEPTABLE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
BODY_SECONDS = 30.0
"""In which a request's body must arrive."""
SKIMMED_BYTES = 16 * 1024 * 1024
"""Of a body over the limit that is read and dropped before it is refused."""


class RequestContext:
    """Gives every request an id (the client's `X-Request-ID` if it has one), counts it and times it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Wrap `app`."""
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        identity = given.decode() if _ACCEPTABLE_ID.fullmatch(given) else _new_id()
        request_id.set(identity)
        started, status = time.perf_counter(), HTTPStatus.INTERNAL_SERVER_ERROR.value

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                names = [b"x-request-id", *([b"x-trace-id"] if is_deepl(scope["path"]) else [])]
                own = [(name, identity.encode()) for name in names]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "unmatched")
            self.metrics.in_flight.dec()
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.requests.labels(route, method, str(status)).inc()
            self.metrics.request_seconds.labels(route).observe(seconds)
            milliseconds = round(seconds * 1e3, 1)
            fields = {
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": milliseconds,
            }
            logger.info("%s %s %d %.1f ms", *fields.values(), extra={"fields": fields})


def _new_id() -> str:
    """128 bits that need only differ from others', so that the system's source of secrets is not asked."""
    return f"{random.getrandbits(128):032x}"


class HeadLimit:
    """Answers 414 where a request's address has more than `limit` bytes, 431 where its header fields have."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        """Wrap `app`."""
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        fields = sum(len(name) + len(value) for name, value in scope["headers"])
        path, limit = scope["path"], self.limit
        if address > limit:
            message = f"Invalid request: the address has {address} bytes, the limit is {limit}"
            response = answer(
                HTTPStatus.REQUEST_URI_TOO_LONG, message, "address_too_long", path=path
            )
        elif fields > limit:
            message = (
                f"Invalid request: the header fields have {fields} bytes, the limit is {limit}"
            )
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            response = answer(status, message, "headers_too_large", path=path)
        else:
            await self.app(scope, receive, send)
            return
        await response(scope, receive, send)


class RequestLimit:
    """Answers 429 while `limit` requests are in flight, before anything of a new one is looked at.

    It stands behind BodyLimit, so that who sends slowly takes nobody's place. Health and metrics are answered
    still.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        expected_wait: Callable[[], float | None],
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        """Wrap `app`; `expected_wait` says how many seconds what waits now should take."""
        self.app, self.limit = app, limit
        self.expected_wait, self.on_refused = expected_wait, on_refused
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self.in_flight >= self.limit:
            self.on_refused()
            message = (
                f"Slowdown: {self.in_flight} requests are in flight, the limit is {self.limit}"
            )
            wait, path = self.expected_wait(), scope["path"]
            response = answer(HTTPStatus.TOO_MANY_REQUESTS, message, "queue_full", wait, path)
            await response(scope, receive, send)
            return
        self.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_flight -= 1


class BodyLimit:
    """Answers 413 to a body of more than `limit` bytes, whether or not its length was announced.

    One that its client stops sending, by leaving or for too long, is told from what fails here.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        """Wrap `app`."""
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await self._skim(receive)
            await self._refuse(int(announced), scope, receive, send)
            return
        messages: list[Message] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        await self._refuse_incomplete(size, scope, receive, send)
                        return
                    messages.append(message)
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
                    if size > self.limit:
                        await self._skim(receive)
                        break
        except TimeoutError:
            await self._refuse_slow(size, scope, receive, send)
            return
        if size > self.limit:
            await self._refuse(size, scope, receive, send)
            return
        waiting = iter(messages)

        async def replay() -> Message:
            return next(waiting, None) or await receive()

        await self.app(scope, replay, send)

    async def _skim(self, receive: Receive) -> None:
        """Take in the rest of a body, if it is not huge: a client that still sends would miss the answer."""
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(BODY_SECONDS):
                while size <= SKIMMED_BYTES:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return

    async def _refuse_incomplete(
        self, size: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """For the books: there is nobody to read it."""
        message = f"Invalid request: the connection was closed after {size} bytes of the body"
        response = answer(HTTPStatus.BAD_REQUEST, message, "body_incomplete", path=scope["path"])
        await response(scope, receive, send)

    async def _refuse_slow(self, size: int, scope: Scope, receive: Receive, send: Send) -> None:
        message = (
            f"Invalid request: after {BODY_SECONDS:g} s only {size} bytes of the body were there"
        )
        response = answer(HTTPStatus.REQUEST_TIMEOUT, message, "body_too_slow", path=scope["path"])
        await response(scope, receive, send)

    async def _refuse(self, size: int, scope: Scope, receive: Receive, send: Send) -> None:
        message = f"Invalid request: the body has at least {size} bytes, the limit is {self.limit}"
        response = answer(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, "body_too_large", path=scope["path"]
        )
        await response(scope, receive, send)

"""The id of every request, its line in the access log, and its metrics."""

import asyncio
import logging
import random
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from http import HTTPMethod, HTTPStatus
from operator import itemgetter

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.access import caller_of
from service.api.errors import ERROR_CODE, SENT_STATUS, answer, identifying
from service.api.stream import EVENT_STREAM, error_event
from service.errors import NotReadyError
from service.logs import request_id
from service.metrics import Metrics

logger = logging.getLogger("service.access")

_METHODS = frozenset(HTTPMethod)  # a metrics label, and clients can invent any number of methods
_ACCEPTABLE_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Ids that are safe in logs, header fields and quotations; the log writes "-" for a missing id."""


class AccessLog:
    """Writes a line in the access log for every request, and records its metrics."""

    def __init__(self, metrics: Metrics) -> None:
        """Record in `metrics`."""
        # cached, because each look-up takes several checks and locks
        self._requests = cache(metrics.requests.labels)
        self._seconds = cache(metrics.request_seconds.labels)
        self._requests_by_key = cache(metrics.requests_by_key.labels)
        self._errors = metrics.errors

    def record(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        error: str = "",
        key: str = "",
    ) -> None:
        """Record a request that was answered.

        `error` is the code of its error, and `key` the name of its API key, if there was one.
        """
        method = method if method in _METHODS else "other"
        status_class = f"{status // 100}xx"
        self._requests(route, method, str(status)).inc()
        self._seconds(route, status_class).observe(seconds)
        if error:
            self._errors.labels(error).inc()
        if key:
            self._requests_by_key(key, status_class).inc()
        if logger.isEnabledFor(logging.INFO):
            fields = {
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1e3, 1),
            }
            line = "%s %s %d %.1f ms"
            if key:
                fields["key"] = key
                line = "%s %s %d %.1f ms, key %s"
            # built by hand at half the cost, since logger.info would look for its caller
            record = logging.LogRecord(
                logger.name, logging.INFO, __file__, 0, line, tuple(fields.values()), None
            )
            vars(record)["fields"] = fields
            logger.handle(record)


class RequestContext:
    """Gives every request an id (the client's `X-Request-ID` if it is valid), and records its metrics.

    A request that is cancelled because the service stops is answered with an error.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Sequence[BaseRoute] = ()) -> None:
        """Wrap `app`, which has these routes."""
        self.app, self.access_log, self.routes = app, AccessLog(metrics), routes
        self.in_flight = 0
        metrics.watch_requests(lambda: self.in_flight)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        method = scope["method"]
        identity = scope.get("request_id") or identity_of(scope["headers"])
        scope["request_id"] = identity  # for answers that bypass this middleware
        request_id.set(identity.decode())
        started, has_ended, is_between = time.perf_counter(), False, True
        start: Message | None = None

        async def send_with_id(message: Message) -> None:
            nonlocal start, has_ended, is_between
            is_start = message["type"] == "http.response.start"
            if is_start:
                id_fields = identifying(identity, scope["path"])
                message["headers"] = [*message.get("headers", ()), *id_fields]
            await send(message)  # it may wait for the client to read, and be cancelled
            if is_start:
                start = message
            else:
                has_ended = not message.get("more_body", False)
                is_between = message.get("body", b"").endswith(b"\n\n")  # of two events

        self.in_flight += 1
        try:
            await self.app(scope, receive, send_with_id)
        except asyncio.CancelledError:
            streams = start is not None and not has_ended and is_between and _is_event_stream(start)
            if start is None or streams:
                await _cut_off(scope, receive, send_with_id, streams)
            elif not has_ended:  # only closing the connection tells the client
                raise
        except Exception:
            scope.setdefault(ERROR_CODE, "internal_error")
            raise
        finally:
            seconds = time.perf_counter() - started
            self.in_flight -= 1
            own_status = start["status"] if start else HTTPStatus.INTERNAL_SERVER_ERROR.value
            status, error = scope.get(SENT_STATUS, own_status), scope.get(ERROR_CODE, "")
            route, key = self._route_of(scope), caller_of(scope)
            self.access_log.record(method, route, status, seconds, error, key)

    def _route_of(self, scope: Scope) -> str:
        """Return the declared path of a request's route, also of one that was refused before routing."""
        route = scope.get("route")
        if route is None and self.routes:
            match, nearest = max(
                ((route.matches(scope)[0].value, route) for route in self.routes),
                key=itemgetter(0),
            )
            route = nearest if match != Match.NONE.value else None
        return getattr(route, "path", "unmatched")


def identity_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the id of a request: the client's if it is valid, otherwise a new one."""
    client_id = dict(headers).get(b"x-request-id", b"")
    if _ACCEPTABLE_ID.fullmatch(client_id):
        return client_id
    # ids must be unique but need not be secret, so the operating system's generator is not needed
    return b"%032x" % random.getrandbits(128)


def _is_event_stream(start: Message) -> bool:
    """Return whether an answer is a stream of events, to which an error can still be added."""
    fields = dict(start.get("headers", ()))
    return bool(fields.get(b"content-type", b"").startswith(EVENT_STREAM.encode()))


async def _cut_off(scope: Scope, receive: Receive, send: Send, streams: bool) -> None:
    """Answer a request that was cancelled at the end of a drain, or end its stream, with an error."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    message, code = "the service has stopped before this was done", NotReadyError.code
    if streams:
        scope.setdefault(ERROR_CODE, code)
        event = error_event(message, code).encode()
        await send({"type": "http.response.body", "body": event, "more_body": False})
        return
    status = HTTPStatus.SERVICE_UNAVAILABLE
    scope.setdefault(SENT_STATUS, status.value)  # even if the client does not read it any more
    response = answer(status, message, code, path=scope["path"])
    response.headers["connection"] = "close"
    await response(scope, receive, send)

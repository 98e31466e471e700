"""All open connections: how many there may be, and which one is closed for a new one.

At the limit, the connection that has waited longest for a request, or for the rest of one, is closed. A few
connections are reserved for health checks: other requests are refused on them while all others are busy.
"""

import logging
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.dialects import is_probe
from service.api.errors import answer

if TYPE_CHECKING:
    from service.api.connection import Connection

logger = logging.getLogger(__name__)

RESERVED = 32
"""Connections, or a quarter of all, that only probes may keep busy."""
OTHER_FILES = 160
"""File descriptors that the process needs beside its connections."""
WARNING_SECONDS = 10.0
"""Between two lines on the log that say that the limit is reached."""


class Connections:
    """Those that are open; used from the event loop's thread alone."""

    def __init__(self, limit: int = 1000) -> None:
        """Nobody is connected; at most `limit` may be."""
        self.limit = limit
        self.busy_limit = limit - min(RESERVED, limit // 4)
        self.are_winding_down = False
        """Whether each answer is to be the last one of its connection."""
        self.num_closed = 0
        """Connections that were closed or refused because of the limit."""
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # for a request to be complete; longest first
        self._warned = float("-inf")

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def opened(self, connection: "Connection") -> None:
        """Take in a new one."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self.limit:
            self._close_oldest()

    def closed(self, connection: "Connection") -> None:
        """Forget one."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def received(self, connection: "Connection") -> None:
        """Note that a request is complete: its connection stays until it is answered."""
        self._waiting.pop(connection, None)

    def answered(self, connection: "Connection") -> None:
        """Note that a connection waits for its next request, from now on."""
        if connection in self._open:
            self._waiting.pop(connection, None)
            self._waiting[connection] = None

    def app_for(self, path: str, app: ASGIApp) -> ASGIApp:
        """What answers a request whose head has just arrived."""
        if self._num_busy >= self.busy_limit and not is_probe(path):
            self._count()
            return partial(self._refuse, self._num_busy)
        return app

    @property
    def _num_busy(self) -> int:
        """How many are being answered."""
        return len(self._open) - len(self._waiting)

    def _close_oldest(self) -> None:
        """Close the one that has waited longest; where all others are busy, that is the newcomer."""
        oldest = next(iter(self._waiting))
        self._count()
        self.closed(oldest)
        oldest.transport.abort()

    def _count(self) -> None:
        self.num_closed += 1
        if time.monotonic() >= self._warned + WARNING_SECONDS:
            self._warned = time.monotonic()
            logger.warning(
                "the limit of %d connections is reached; %d were closed or refused so far",
                self.limit,
                self.num_closed,
            )

    async def _refuse(self, busy: int, scope: Scope, receive: Receive, send: Send) -> None:
        message = f"Slowdown: {busy} connections are busy, the limit is {self.busy_limit}"
        response = answer(
            HTTPStatus.SERVICE_UNAVAILABLE, message, "too_many_connections", path=scope["path"]
        )
        response.headers["connection"] = "close"
        await response(scope, receive, send)


def limit_for(wanted: int) -> int:
    """The connections that are wanted, or as many as this process may have files open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        asked = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):  # macOS has a lower limit beside this one
            resource.setrlimit(resource.RLIMIT_NOFILE, (asked, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = max(1, soft - OTHER_FILES)
    logger.warning(
        "at most %d connections instead of %d: this process may have %d files open (ulimit -n)",
        limit,
        wanted,
        soft,
    )
    return limit

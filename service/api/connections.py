"""All open connections, and their limit.

At the limit, of the connections that are not busy, the one that has been silent for longest is closed to make
room for a new one. A few connections are reserved for health checks: while all others are busy, these refuse
other requests, once they are complete.
"""

import logging
import resource
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from service.api.head import ProtocolError
from service.api.line import Line
from service.api.unread import MAX_BYTES, UnreadAnswers
from service.logs import CountedWarning

if TYPE_CHECKING:
    from service.api.connection import Connection

logger = logging.getLogger(__name__)

RESERVED = 32
"""Connections that are reserved for probes; at most a quarter of all."""
OTHER_FILES = 160
"""File descriptors kept for everything but connections, unless that is more than half of all."""


class Connections:
    """The open connections. Not thread-safe: used on the event loop only."""

    def __init__(self, limit: int = 1000, max_unread_bytes: int = MAX_BYTES) -> None:
        """Allow up to `limit` connections, and so many bytes of answers that clients have yet to read."""
        self.limit, self.unread = limit, UnreadAnswers(max_unread_bytes)
        self.busy_limit = limit - min(RESERVED, limit // 4)
        self.are_winding_down = False
        """Whether each connection is closed after its next answer, whose head says so."""
        self.probes, self.others = Line(are_cheap=True), Line()
        """Lines of requests to begin; probes have their own, so that others do not keep them waiting."""
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}  # those that are not busy; longest silence first
        message = "the limit of %d connections is reached; %d were closed or refused so far"
        self._closed = CountedWarning(logger, message, limit)

    @property
    def num_closed(self) -> int:
        """Connections that were closed or refused because of the limit."""
        return self._closed.num_events

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    @property
    def num_in_line(self) -> int:
        """Number of requests that are to begin in a later turn of the event loop."""
        return len(self.probes) + len(self.others)

    def opened(self, connection: "Connection") -> None:
        """Add a new connection; at the limit, close another."""
        self.probes.accepted()
        self.others.accepted()
        self._open.add(connection)
        self._idle[connection] = None
        if len(self._open) > self.limit:
            self._close_oldest()

    def closed(self, connection: "Connection") -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self.unread.closed(connection)
        self.leave_line(connection)

    def line_of(self, connection: "Connection") -> Line:
        """Return the line in which a connection's request waits until it may begin."""
        return self.probes if connection.is_probe else self.others

    def leave_line(self, connection: "Connection") -> None:
        """Let a connection wait in no line."""
        for line in (self.probes, self.others):
            line.leave(connection)

    def heard(self, connection: "Connection") -> None:
        """Record that bytes have arrived: of the idle connections, this one is closed last."""
        if connection in self._idle:
            del self._idle[connection]
            self._idle[connection] = None

    def changed(self, connection: "Connection") -> None:
        """Record whether a connection is busy, and whether its client has yet to read.

        Beyond the limit, none counts as busy, so that it can be closed.
        """
        self.unread.changed(connection)
        if connection.is_busy and self._num_busy_besides(connection) < self.busy_limit:
            self._idle.pop(connection, None)
        elif connection in self._open:
            self._idle.setdefault(connection)

    def are_too_busy_for(self, connection: "Connection") -> bool:
        """Whether so many connections besides this one are busy that its request is not answered."""
        return not connection.is_probe and self._num_busy_besides(connection) >= self.busy_limit

    def check(self, connection: "Connection") -> None:
        """Check that a complete request, which makes its connection busy, is not one too many.

        Raises:
            ProtocolError: it is.
        """
        if self.are_too_busy_for(connection):
            self._closed.add()
            num_busy = self._num_busy_besides(connection)
            message = f"Slowdown: {num_busy} connections are busy, the limit is {self.busy_limit}"
            raise ProtocolError(HTTPStatus.SERVICE_UNAVAILABLE, message, "too_many_connections")

    def _num_busy_besides(self, connection: "Connection") -> int:
        return len(self._open) - len(self._idle) - (connection not in self._idle)

    def _close_oldest(self) -> None:
        """Close the connection that has been silent for longest: the new one, if all others are busy."""
        oldest = next(iter(self._idle))
        self._closed.add()
        self.closed(oldest)
        oldest.transport.abort()


def limit_for(max_connections: int) -> int:
    """Return `max_connections`, or fewer if the process may not have that many files open.

    The soft limit on open files is raised if necessary. A reduced number is logged as a warning.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = max_connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        requested = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):  # macOS also has a lower limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (requested, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return max_connections
    limit = max(soft // 2, soft - OTHER_FILES)
    logger.warning(
        "at most %d connections instead of %d: this process may have %d files open (ulimit -n)",
        limit,
        max_connections,
        soft,
    )
    return limit

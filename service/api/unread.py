"""The answers that clients have yet to read, and the limit on their total size."""

import asyncio
import logging
from typing import TYPE_CHECKING

from service.logs import CountedWarning

if TYPE_CHECKING:
    from service.api.connection import Connection

logger = logging.getLogger(__name__)

MAX_BYTES = 67_108_864
PATIENCE_SECONDS = 1.0
"""How long an answer may keep waiting, at least."""
CHECK_SECONDS = 0.25
"""Interval between two checks while clients do not read."""


class UnreadAnswers:
    """Cuts off answers beyond the limit: the largest that have waited longest. Used on the event loop only.

    A single answer may be larger than the limit.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Allow up to `max_bytes` in all."""
        self.max_bytes = max_bytes
        self._waiting: dict[Connection, None] = {}  # whose clients have yet to read what was sent
        self._timer: asyncio.TimerHandle | None = None
        message = "answers that clients do not read exceed %d bytes; %d cut off so far"
        self._cut = CountedWarning(logger, message, max_bytes)

    @property
    def num_cut(self) -> int:
        """Answers that were cut off."""
        return self._cut.num_events

    def changed(self, connection: "Connection") -> None:
        """Record whether the client of a connection keeps its answer waiting."""
        if connection.writable.is_set():
            self._waiting.pop(connection, None)
        else:
            self._waiting[connection] = None
            if self._timer is None:
                self._watch()

    def closed(self, connection: "Connection") -> None:
        """Forget a connection."""
        self._waiting.pop(connection, None)

    def _watch(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        """Cut answers off until the limit is kept."""
        self._timer = None
        sizes = {connection: _size(connection) for connection in self._waiting}
        total = sum(sizes.values())
        costs = {
            connection: size * connection.transport.blocked_seconds
            for connection, size in sizes.items()
            if connection.transport.blocked_seconds >= PATIENCE_SECONDS
        }
        for connection in sorted(costs, key=lambda one: -costs[one]):
            if total <= self.max_bytes or len(self._waiting) == 1:
                break
            total -= sizes[connection]
            self._waiting.pop(connection, None)
            connection.transport.reset()
            self._cut.add()
        if self._waiting:
            self._watch()


def _size(connection: "Connection") -> int:
    """Return the bytes of a connection's answer that are in memory."""
    held = 0 if connection.exchange is None else connection.exchange.num_held
    return connection.transport.get_write_buffer_size() + held

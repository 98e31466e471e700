"""The answers that clients have yet to read, and the limit on their total size."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.api.transport import LingeringTransport

logger = logging.getLogger(__name__)

MAX_BYTES = 67_108_864
PATIENCE_SECONDS = 1.0
"""How long an answer may keep waiting, at least."""
WARNING_SECONDS = 10.0
"""Minimum time between two warnings that answers were cut off."""


class UnreadAnswers:
    """Cuts off answers beyond the limit: those that have waited longest. Used on the event loop only.

    A single answer may be larger than the limit.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Allow up to `max_bytes` in all."""
        self.max_bytes = max_bytes
        self.num_bytes = 0
        """Total size, of each answer when its client last began to keep it waiting."""
        self.num_cut = 0
        """Answers that were cut off."""
        self._waiting: dict[LingeringTransport, tuple[float, int]] = {}  # since when, and the size
        self._timer: asyncio.TimerHandle | None = None
        self._warned = float("-inf")

    def add(self, transport: "LingeringTransport", size: int, waited_seconds: float) -> None:
        """Count `size` bytes that `transport` cannot send yet, of an answer that has waited before."""
        self._waiting[transport] = asyncio.get_running_loop().time() - waited_seconds, size
        self.num_bytes += size
        if self._timer is None:
            self._cut()

    def remove(self, transport: "LingeringTransport") -> None:
        """Count the bytes of `transport` no more: they are sent, or will never be."""
        _, size = self._waiting.pop(transport, (0.0, 0))
        self.num_bytes -= size

    def _cut(self) -> None:
        """Cut answers off until the limit is kept, or try again when the oldest has waited long enough."""
        loop = asyncio.get_running_loop()
        self._timer = None
        while self.num_bytes > self.max_bytes and len(self._waiting) > 1:
            transport = min(self._waiting, key=lambda one: self._waiting[one][0])
            seconds_left = self._waiting[transport][0] + PATIENCE_SECONDS - loop.time()
            if seconds_left > 0:
                self._timer = loop.call_later(seconds_left, self._cut)
                return
            self.remove(transport)
            transport.reset()
            self.num_cut += 1
            self._warn()

    def _warn(self) -> None:
        if time.monotonic() >= self._warned + WARNING_SECONDS:
            self._warned = time.monotonic()
            logger.warning(
                "answers that clients do not read exceed %d bytes; %d were cut off so far",
                self.max_bytes,
                self.num_cut,
            )

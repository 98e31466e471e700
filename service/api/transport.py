"""A transport that delivers an answer before the connection ends.

Closing a socket that has unread bytes resets it, and a client that is still sending would lose the answer. So
further bytes are read and dropped for a while (RFC 9112, section 9.6). A client that does not read its answer
is cut off after a limited time.
"""

import asyncio
from collections.abc import Callable
from typing import Any

LINGER_SECONDS = 30.0
LINGER_BYTES = 16 * 1024 * 1024
"""What is read and dropped behind an answer to a request that has not ended."""
WRITE_SECONDS = 30.0
"""For which a closed connection may wait for its client to read the rest."""


class LingeringTransport(asyncio.Transport):
    """Another transport, but for the end."""

    def __init__(self, transport: asyncio.Transport, is_receiving: Callable[[], bool]) -> None:
        """Wrap `transport`; `is_receiving` says whether more of a request may come."""
        super().__init__()
        self._transport, self._is_receiving = transport, is_receiving
        self._timer: asyncio.TimerHandle | None = None
        self._taken = 0  # bytes behind the answer
        self._is_closing = False

    def linger(self) -> None:
        """Bound what still comes, in time and in size."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abort)

    def take(self, size: int) -> None:
        """Count what has come behind an answer."""
        if self._timer is not None:
            self._taken += size
            if self._taken > LINGER_BYTES:
                self.abort()

    def stop_lingering(self) -> None:
        """The rest has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._taken = None, 0

    def lost(self) -> None:
        """The connection has ended: leave no clock behind, and no circle that only the collector frees."""
        self.stop_lingering()
        self._is_receiving = bool

    def close(self) -> None:
        """Let the answer arrive, then close."""
        if self.is_closing():
            return
        if self._is_receiving():
            self.hang_up()
            return
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self.stop_lingering()
            self._timer = asyncio.get_running_loop().call_later(WRITE_SECONDS, self.abort)

    def hang_up(self) -> None:
        """Send no more, and drop what comes."""
        self._is_closing = True
        self._transport.resume_reading()
        self._transport.write_eof()
        self.linger()

    def is_closing(self) -> bool:
        """Whether all that still comes is dropped."""
        return self._is_closing or self._transport.is_closing()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send it, unless the end was sent."""
        if not self._is_closing:
            self._transport.write(data)

    def pause_reading(self) -> None:
        """See asyncio.ReadTransport."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """See asyncio.ReadTransport."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See asyncio.BaseTransport."""
        return self._transport.get_extra_info(name, default)

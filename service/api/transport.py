"""A transport that delivers the answer before it closes the connection.

Closing a socket with unread bytes resets it, and a client that is still sending would lose the answer. So
further bytes are read and discarded for a while (RFC 9112, section 9.6). A client that does not read its
answer is disconnected after a limited time.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

LINGER_SECONDS = 30.0
LINGER_BYTES = 16 * 1024 * 1024
"""Maximum bytes to read and discard after the answer to a request that is still being sent."""
WRITE_SECONDS = 30.0
"""Total time that the sending of one answer may be blocked because its client does not read."""


class LingeringTransport(asyncio.Transport):
    """A wrapper of a transport that closes only after the answer has been delivered."""

    def __init__(self, transport: asyncio.Transport, is_receiving: Callable[[], bool]) -> None:
        """Wrap `transport`; `is_receiving` returns whether more of a request may arrive."""
        super().__init__()
        self._transport, self._is_receiving = transport, is_receiving
        self._timer: asyncio.TimerHandle | None = None
        self._taken = 0  # bytes received after the answer
        self._is_closing = False
        self._write_timer: asyncio.TimerHandle | None = None
        self._blocked_since = self._blocked_seconds = 0.0  # the total is that of the current answer

    @property
    def blocked_seconds(self) -> float:
        """How long the sending of the current answer has been blocked in all."""
        if self._write_timer is None:
            return self._blocked_seconds
        return self._blocked_seconds + asyncio.get_running_loop().time() - self._blocked_since

    def block(self) -> None:
        """Start the time limit for a client that does not read its answer."""
        loop = asyncio.get_running_loop()
        self._blocked_since = loop.time()
        seconds_left = max(0.0, WRITE_SECONDS - self._blocked_seconds)
        self._write_timer = loop.call_later(seconds_left, self.reset)

    def unblock(self) -> None:
        """Stop that time limit: the client has read all that was sent so far."""
        if self._write_timer is not None:
            self._blocked_seconds = self.blocked_seconds
            self._write_timer.cancel()
            self._write_timer = None

    def begin_answer(self) -> None:
        """Count the time that sending is blocked anew."""
        self._blocked_seconds = 0.0

    def linger(self) -> None:
        """Limit the time and size of what is still received; afterwards the connection is aborted."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abort)

    def take(self, size: int) -> None:
        """Count `size` bytes that were received after an answer."""
        if self._timer is not None:
            self._taken += size
            if self._taken > LINGER_BYTES:
                self.abort()

    def stop_lingering(self) -> None:
        """Lift the limits: the rest of the request has been received."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._taken = None, 0

    def lost(self) -> None:
        """Clean up after the connection has ended: cancel the timers, and break the reference cycle."""
        self.stop_lingering()
        self.unblock()
        self._is_receiving = bool

    def close(self) -> None:
        """Close once the answer has been delivered."""
        if self.is_closing():
            return
        if self._is_receiving():
            self.hang_up()
        else:
            self._transport.close()

    def hang_up(self) -> None:
        """Close the sending side, and discard what is still received."""
        self._is_closing = True
        self._transport.resume_reading()
        self._transport.write_eof()
        self.linger()

    def is_closing(self) -> bool:
        """Return whether the transport is closing, so that received bytes are discarded."""
        return self._is_closing or self._transport.is_closing()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def reset(self) -> None:
        """Close at once with a reset, so that the kernel, too, drops what the client does not read."""
        linger = struct.pack("ii", 1, 0)
        with suppress(OSError):  # it has just been closed
            self.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send `data`, unless the sending side is closed."""
        if not self._is_closing:
            self._transport.write(data)

    def pause_reading(self) -> None:
        """See asyncio.ReadTransport."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """See asyncio.ReadTransport."""
        self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        """See asyncio.WriteTransport."""
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See asyncio.BaseTransport."""
        return self._transport.get_extra_info(name, default)

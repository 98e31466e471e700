"""Finds out whether a client that has ended its side of a connection is still there."""

import asyncio
from collections.abc import Callable

QUIET_SECONDS = 0.05
"""Grace period for the answer after a half-close; only then is the client probed."""
PROBE_SECONDS = (0.0, 0.002, 0.01, 0.05, 0.25)
"""Pauses between checks whether a half-closed client has gone altogether; the last one repeats."""
INTERIM_PROBES = (0, 6, 14, 46, 126)
"""Checks that also send an interim response, up to 30 s later; some clients accept only a few."""


class HalfClosed:
    """Checks whether the client has reset the connection, until it is cancelled.

    If it has gone altogether, it replies to an interim response with a reset; otherwise it discards the
    response (RFC 9110, section 15.2).
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        is_reset: Callable[[], bool],
        send_interim: Callable[[], None],
        abort: Callable[[], None],
    ) -> None:
        """Begin after `QUIET_SECONDS`; `send_interim` sends an interim response, if one is possible now."""
        self._loop, self._is_reset = loop, is_reset
        self._send_interim, self._abort = send_interim, abort
        self._timer = loop.call_later(QUIET_SECONDS, self._check, 0)

    def cancel(self) -> None:
        """Check no longer."""
        self._timer.cancel()

    def _check(self, checks: int) -> None:
        """Abort if the client has gone altogether; otherwise check again later."""
        if self._is_reset():
            self._abort()
            return
        if checks in INTERIM_PROBES:
            self._send_interim()
        pause = PROBE_SECONDS[min(checks, len(PROBE_SECONDS) - 1)]
        self._timer = self._loop.call_later(pause, self._check, checks + 1)

"""Spreads requests over the turns of the event loop, so that it also accepts and reads connections."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Protocol

BEGUN_PER_TURN, LEAST_PER_TURN = 16, 2
"""Requests that begin per turn of the event loop: at most, and if turns take long."""
TURN_SECONDS = 0.02
"""Duration of a turn beyond which fewer requests begin in the next one."""
ACCEPTING_TURNS = 8
"""Of so many turns in a row that accept connections, one also begins a request that is not cheap."""


class InLine(Protocol):
    """What waits in line: a connection for its next request, or a request whose body is complete."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""

    def go_on(self, seconds: float) -> None:
        """Begin with the request, which has waited for so many seconds."""


class _Waiter:
    """A request that is complete, on any connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.admitted: asyncio.Future[float] = loop.create_future()

    def go_on(self, seconds: float) -> None:
        """Begin with the request, unless it was cancelled."""
        if not self.admitted.done():
            self.admitted.set_result(seconds)


class Line:
    """Requests that wait for the turn of the event loop in which they begin."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, are_cheap: bool = False
    ) -> None:
        """Begin with an empty line.

        Args:
            clock: returns seconds.
            are_cheap: whether the requests take less than a millisecond, so that turns do not take long for
                them.
        """
        self._clock, self._are_cheap = clock, are_cheap
        self._most = BEGUN_PER_TURN
        self._waiting: dict[InLine, float] = {}  # since when, the first one first
        self._num_begun = 0  # in this turn
        self._has_accepted = self._awaits_turn = False
        self._turns_accepting = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def accepted(self) -> None:
        """Record that a connection was accepted; as long as there are more, fewer requests begin."""
        self._has_accepted = True

    def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Count a request that begins in this turn; return False if it must `wait`."""
        if self._waiting or self._num_begun >= self._per_turn:
            return False
        self._num_begun += 1
        self._watch_turn(loop)
        return True

    async def turn(self, when_left: Callable[[Callable[[], None]], None]) -> float:
        """Wait until a request may begin, or its client leaves; return how many seconds it has waited.

        `when_left` registers what is called when the client leaves.
        """
        loop = asyncio.get_running_loop()
        if self.may_begin(loop):
            return 0.0
        waiter = _Waiter(loop)
        self.wait(waiter)
        when_left(partial(waiter.go_on, 0.0))
        try:
            return await waiter.admitted
        finally:
            self.leave(waiter)

    def wait(self, connection: InLine) -> None:
        """Let a connection go on when it is its turn: if its request is pipelined, or if it may not begin."""
        self._waiting[connection] = self._clock()
        self._watch_turn(connection.loop)

    def leave(self, connection: InLine) -> None:
        """Let a connection, whose client has left, wait no longer."""
        self._waiting.pop(connection, None)

    @property
    def _per_turn(self) -> int:
        if self._are_cheap:
            return LEAST_PER_TURN if self._has_accepted else BEGUN_PER_TURN
        if self._has_accepted:
            return int(self._turns_accepting % ACCEPTING_TURNS == 0)
        return self._most

    def _watch_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._awaits_turn:
            self._awaits_turn = True
            loop.call_soon(self._next_turn, loop, self._clock())

    def _next_turn(self, loop: asyncio.AbstractEventLoop, started: float) -> None:
        is_slow = self._clock() - started > TURN_SECONDS
        self._most = self._most // 2 if is_slow else self._most + 1
        self._most = min(max(self._most, LEAST_PER_TURN), BEGUN_PER_TURN)
        has_begun = self._num_begun > 0  # then the work of these requests is part of the next turn
        first = list(islice(self._waiting, self._per_turn))
        self._turns_accepting = self._turns_accepting + 1 if self._has_accepted else 0
        self._num_begun, self._has_accepted, self._awaits_turn = len(first), False, False
        if has_begun or self._waiting:
            self._watch_turn(loop)
        for connection in first:
            if (since := self._waiting.pop(connection, None)) is not None:
                connection.go_on(self._clock() - since)

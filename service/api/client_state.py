"""The state of the client whose request is being served, as our own server sees it.

With other ASGI servers, only `receive` reports that a client has disconnected, and a task must await it.
"""

from collections.abc import Awaitable, Callable

KEY = "client_state"
"""The key of a request's `ClientState` in its ASGI scope."""


class ClientState:
    """Whether the client of a request has sent its body, has disconnected, or keeps an answer waiting."""

    __slots__ = ("_turn", "_when_left", "has_left", "has_sent_all", "num_held", "seconds_in_line")

    def __init__(
        self, turn: Callable[["ClientState"], Awaitable[float]] | None = None, seconds: float = 0.0
    ) -> None:
        """Describe a client from which only the head has been received.

        Args:
            turn: waits until a complete request may begin, and returns how many seconds that took; None if it
                has begun with its head.
            seconds: how long it has waited before that.
        """
        self._turn = turn
        self.has_sent_all = False
        """Whether the whole body has been received."""
        self.has_left = False
        """Whether the client can no longer receive an answer."""
        self.seconds_in_line = seconds
        """How long the request, once complete, has waited for its turn and for the parser of bodies.

        Its deadline includes this.
        """
        self.num_held = 0
        """Bytes of the answer that wait in memory until the client has read what comes before."""
        self._when_left: Callable[[], None] | None = None

    async def wait_for_turn(self) -> None:
        """Wait until the request, whose body has been read, may begin."""
        if self._turn is not None:
            turn, self._turn = self._turn, None
            self.seconds_in_line += await turn(self)

    def when_left(self, call: Callable[[], None]) -> None:
        """Call `call` once when the client leaves, or at once if it has left already."""
        self._when_left = call
        if self.has_left:
            call()

    def leave(self) -> None:
        """Record that the client has left, and call the callback the first time."""
        if not self.has_left:
            self.has_left = True
            if self._when_left is not None:
                self._when_left()

"""What our server knows of a client while it serves its request.

Other servers tell it only to who awaits `receive`, which takes a task of its own.
"""

from collections.abc import Callable

KEY = "client_state"
"""In the scope of a request."""


class ClientState:
    """Of one request."""

    __slots__ = ("_when_left", "has_left", "has_sent_all")

    def __init__(self) -> None:
        """Its head has come."""
        self.has_sent_all = False
        """Whether the body has come as a whole."""
        self.has_left = False
        """Whether no answer can reach the client."""
        self._when_left: Callable[[], None] | None = None

    def when_left(self, call: Callable[[], None]) -> None:
        """Have `call` called, once, when the client has left; at once if it has by now."""
        self._when_left = call
        if self.has_left:
            call()

    def leave(self) -> None:
        """Note that it has left."""
        if not self.has_left:
            self.has_left = True
            if self._when_left is not None:
                self._when_left()

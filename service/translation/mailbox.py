"""From the engine's threads to an event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

Message = TypeVar("Message")


class Mailbox:
    """Calls on an event loop from other threads; it is woken once for all that are posted until it wakes.

    A step of the engine finishes sentences of several requests, and each time that the loop is woken takes a
    system call, and the interpreter from the engine's threads.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is posted."""
        self.loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def post(self, take: Callable[[Message], None], message: Message) -> None:
        """Have `take` called with a message, on the loop; from any thread. A closed loop takes no more."""
        self._calls.append(partial(take, message))
        if not self._is_woken:  # else what is appended is taken, too
            self._is_woken = True
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._take_all)

    def _take_all(self) -> None:
        self._is_woken = False  # before the last look
        try:
            while self._calls:
                self._calls.popleft()()
        finally:
            if self._calls:  # one has failed, which the loop tells of, and not the others
                self.loop.call_soon(self._take_all)

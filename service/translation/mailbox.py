"""Passes results from the engine's threads to an event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

Message = TypeVar("Message")


class Mailbox:
    """Calls functions on an event loop from other threads, and wakes the loop only once for several calls.

    A step of the engine finishes sentences of several requests. Each wake-up costs a system call, and takes
    the interpreter's lock from the engine's threads.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start without calls."""
        self.loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def post(self, receive: Callable[[Message], None], message: Message) -> None:
        """Call `receive` with a message on the loop, unless it is closed. May be called from any thread."""
        self._calls.append(partial(receive, message))
        if not self._is_woken:  # otherwise, `_take_all` has yet to read the queue
            self._is_woken = True
            try:
                self.loop.call_soon_threadsafe(self._take_all)
            except BaseException as error:
                self._is_woken = False  # so that the next call wakes the loop
                if not isinstance(error, RuntimeError):  # the loop is closed
                    raise

    def _take_all(self) -> None:
        self._is_woken = False  # first, so that a call that is appended from now on wakes the loop
        try:
            while self._calls:
                self._calls.popleft()()
        finally:
            if self._calls:  # one has failed, which the loop logs; the others must still run
                self.loop.call_soon(self._take_all)

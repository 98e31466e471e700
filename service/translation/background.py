"""An event loop on its own thread, for callers on any other thread or event loop."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from service.errors import CancelledError, NotReadyError

Result = TypeVar("Result")

WATCH_SECONDS = 1.0
"""Interval between two calls of `check`."""


class Background:
    """Runs coroutines until `end`, which cancels the unfinished ones."""

    def __init__(self, name: str, check: Callable[[], object]) -> None:
        """Start a thread called `name`, which calls `check` about once a second."""
        self._name, self._check = name, check
        self._lock = threading.Lock()
        self._is_closed, self._process = False, os.getpid()
        self._loop = asyncio.new_event_loop()
        self._closed = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Result]) -> "Future[Result | CancelledError]":
        """Start a coroutine; the result of the future must be passed to `taken`.

        Raises:
            RuntimeError: `refuse_new` was called, or this process is a fork of the one with the thread.
        """
        if self._process != os.getpid():
            work.close()
            raise RuntimeError(
                f"the {self._name} was loaded by another process: load one after the fork"
            )
        with self._lock:  # so that `end` comes before or after: work started earlier still finishes
            if self._is_closed:
                work.close()
                raise RuntimeError(f"the {self._name} is closed")
            return asyncio.run_coroutine_threadsafe(self._unless_closed(work), self._loop)

    def refuse_new(self) -> bool:
        """Refuse new work; return False if it was refused before, or in a fork of the process."""
        if self._process != os.getpid():  # a fork has the lock and the loop, but not the thread
            return False
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        return not was_closed

    def end(self) -> None:
        """Cancel unfinished work and end the thread."""
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join()

    async def _unless_closed(self, work: Coroutine[Any, Any, Result]) -> Result | CancelledError:
        """Return the result of `work`, or an error if the loop was closed before.

        The error is not raised, because asyncio logs errors that are never retrieved.
        """
        try:
            return await work
        except (asyncio.CancelledError, NotReadyError):
            if self._is_closed:
                return CancelledError(f"the {self._name} was closed")
            raise

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._watch())

    async def _watch(self) -> None:
        while not self._closed.is_set():
            self._check()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), WATCH_SECONDS)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def taken(outcome: Result | CancelledError) -> Result:
    """Return the result of a future of `Background.start`, or raise its error.

    Raises:
        CancelledError: the loop was closed before the work was done.
    """
    if isinstance(outcome, CancelledError):
        raise outcome
    return outcome

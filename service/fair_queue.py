"""Shares a thread fairly: cheap work does not wait until all expensive work before it is done."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count


class FairQueue:
    """Admits one piece of work after the other, in the order in which they would end if all ran at once.

    This is fair queueing (Demers, Keshav and Shenker 1989). To be used on one event loop.
    """

    def __init__(self) -> None:
        """Begin without work."""
        self._is_free = True
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []  # a heap
        self._num_waiting, self._numbers = 0, count()
        self._now = 0.0
        """Virtual time: the cost that each piece of work would have been served by now."""

    @asynccontextmanager
    async def turn(self, cost: float) -> AsyncIterator[None]:
        """Wait until work of this cost, in any unit, may begin; it ends with the block."""
        if self._is_free:
            self._is_free = False
        else:
            await self._wait(self._now + cost)
        try:
            yield
        finally:
            self._now += cost / (1 + self._num_waiting)
            self._admit_next()

    async def _wait(self, end: float) -> None:
        admitted = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (end, next(self._numbers), admitted))
        self._num_waiting += 1
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.cancelled():
                self._num_waiting -= 1
            else:  # cancelled just after it was admitted
                self._admit_next()
            raise

    def _admit_next(self) -> None:
        while self._waiting:
            _, _, admitted = heappop(self._waiting)
            if not admitted.done():
                self._num_waiting -= 1
                admitted.set_result(None)
                return
        self._is_free = True

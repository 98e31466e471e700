"""Work that tells of its progress, several such at once, or as a stream of what is told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from service.translation.types import Done, Event, SentenceResult, Translation

Result = TypeVar("Result")
Tell = Callable[[SentenceResult], None]
"""Is told of each sentence as soon as it is done."""


async def together(parts: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results of all, in their order; the first that fails ends them all."""
    if len(parts) == 1:
        return [await parts[0]]
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def streamed(
    work: Callable[[Tell], Awaitable[list[Translation]]],
) -> AsyncGenerator[Event, None]:
    """What `work` tells, and at last its result.

    It goes on while nobody takes what it tells, and is given up where the rest is not wanted.
    """
    events: asyncio.Queue[Event | BaseException] = asyncio.Queue()

    async def feed() -> None:
        try:
            events.put_nowait(Done(await work(events.put_nowait)))
        except BaseException as error:  # whatever it is, who waits must be told
            events.put_nowait(error)

    task = asyncio.ensure_future(feed())
    try:
        event: Event | BaseException | None = None
        while not isinstance(event, Done):
            event = await events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

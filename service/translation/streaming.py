"""Runs translations concurrently, or as a stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from service.translation.types import Done, Event, SentenceResult, Translation

Result = TypeVar("Result")
OnSentence = Callable[[SentenceResult], None]
"""Called with each sentence as soon as it is translated."""


async def together(parts: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Run coroutines concurrently; return their results in order. If one fails, the others are cancelled."""
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
    work: Callable[[OnSentence], Awaitable[list[Translation]]],
) -> AsyncGenerator[Event, None]:
    """Yield the sentences that `work` reports, and finally its result.

    The work does not wait for the consumer. Closing the generator cancels it.
    """
    events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def feed() -> None:
        try:
            events.put_nowait(Done(await work(events.put_nowait)))
        finally:
            events.put_nowait(None)

    task = asyncio.ensure_future(feed())
    try:
        while (event := await events.get()) is not None:
            yield event
        await task  # for its error
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

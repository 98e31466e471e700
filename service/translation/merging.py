"""Asynchronous generators that go on by themselves, several as one. Imports nothing of the project."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

Item = TypeVar("Item")


def merged(parts: Sequence[AsyncGenerator[Item, None]]) -> AsyncGenerator[Item, None]:
    """What all of them give, as it comes; the first that fails ends them all."""
    return parts[0] if len(parts) == 1 else detached(*parts)


async def detached(*parts: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
    """What all of them give; they go on while nobody takes it, which is kept meanwhile."""
    queue: asyncio.Queue[tuple[Item] | BaseException | None] = asyncio.Queue()

    async def feed(part: AsyncGenerator[Item, None]) -> None:
        try:
            async with aclosing(part):
                async for item in part:
                    queue.put_nowait((item,))
        except BaseException as error:  # whatever it is, who waits must be told
            queue.put_nowait(error)
        else:
            queue.put_nowait(None)

    tasks = [asyncio.ensure_future(feed(part)) for part in parts]
    try:
        left = len(tasks)
        while left:
            match await queue.get():
                case None:
                    left -= 1
                case BaseException() as error:
                    raise error
                case (item,):
                    yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Generators that go on by themselves: what they give, and how they end."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from service.translation.merging import detached
from tests.waiting import until


class Panic(BaseException):
    """Of an extension, which is no `Exception`."""


async def numbers(count: int, given: list[int]) -> AsyncGenerator[int, None]:
    try:
        for number in range(count):
            given.append(number)
            yield number
    finally:
        given.append(-1)


async def ending(error: BaseException) -> AsyncGenerator[int, None]:
    await asyncio.sleep(0)
    raise error
    yield 0


def test_they_go_on_while_nobody_takes_what_they_give() -> None:
    async def run() -> list[int]:
        given = list[int]()
        both = detached(numbers(3, given), numbers(2, given))
        found = [await anext(both)]
        await until(lambda: given.count(-1) == 2)
        return found + [number async for number in both]

    assert sorted(asyncio.run(run())) == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("error", [ValueError(), Panic(), asyncio.CancelledError()])
def test_however_one_ends_all_do_and_it_is_told(error: BaseException) -> None:
    async def forever() -> AsyncGenerator[int, None]:
        await asyncio.get_running_loop().create_future()
        yield 0

    async def run() -> None:
        with pytest.raises(type(error)):
            async with asyncio.timeout(60):
                await anext(detached(ending(error), forever()))
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())

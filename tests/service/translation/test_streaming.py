"""Work that tells of its progress: what a stream of it gives, and how it ends."""

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import Mock

import pytest

from service.translation.streaming import OnSentence, streamed, together
from service.translation.types import Done, SentenceResult, Translation
from tests.waiting import until


class Panic(BaseException):
    """Of an extension, which is no `Exception`."""


def sentence(number: int) -> SentenceResult:
    return SentenceResult(0, number, Mock())


async def ending(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def test_work_continues_if_its_events_are_not_consumed() -> None:
    ended = False
    whole = [Translation("all", (), ())]

    async def work(on_sentence: OnSentence) -> list[Translation]:
        nonlocal ended
        for number in range(3):
            on_sentence(sentence(number))
            await asyncio.sleep(0)
        ended = True
        return whole

    async def run() -> list[object]:
        events = streamed(work)
        found: list[object] = [await anext(events)]
        await until(lambda: ended)
        return found + [event async for event in events]

    *sentences, done = asyncio.run(run())
    assert [one.segment for one in sentences if isinstance(one, SentenceResult)] == [0, 1, 2]
    assert done == Done(whole)


@pytest.mark.parametrize("error", [ValueError(), Panic(), asyncio.CancelledError()])
def test_any_failure_of_the_work_is_raised(error: BaseException) -> None:
    async def work(on_sentence: OnSentence) -> list[Translation]:
        on_sentence(sentence(0))
        await ending(error)
        return []

    async def run() -> None:
        events: AsyncIterator[object] = streamed(work)
        await anext(events)
        with pytest.raises(type(error)):
            async with asyncio.timeout(60):
                await anext(events)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_closing_a_stream_cancels_the_work() -> None:
    async def work(on_sentence: OnSentence) -> list[Translation]:
        on_sentence(sentence(0))
        await forever()
        return []

    async def run() -> None:
        events = streamed(work)
        await anext(events)
        await events.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


@pytest.mark.parametrize("error", [ValueError(), Panic(), asyncio.CancelledError()])
def test_the_first_failure_cancels_the_others(error: BaseException) -> None:
    async def run() -> None:
        with pytest.raises(type(error)):
            async with asyncio.timeout(60):
                await together([ending(error), forever()])
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_in_the_order_of_their_parts(count: int) -> None:
    async def part(number: int) -> int:
        await asyncio.sleep(0.001 * (count - number))
        return number

    async def run() -> list[int]:
        return await together([part(number) for number in range(count)])

    assert asyncio.run(run()) == list(range(count))

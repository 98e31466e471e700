"""The order of work in a fair queue."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.fair_queue import FairQueue


async def turn(queue: FairQueue, cost: float, name: int, order: list[int]) -> None:
    async with queue.turn(cost):
        order.append(name)
        await asyncio.sleep(0)


def order_of(costs: Sequence[float]) -> list[int]:
    """Return the order in which work that is there from the start begins, after the first."""

    async def run() -> list[int]:
        queue, order = FairQueue(), list[int]()
        await asyncio.gather(*(turn(queue, cost, name, order) for name, cost in enumerate(costs)))
        return order

    return asyncio.run(run())


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30, unique=True))
def test_cheap_work_goes_first(costs: list[int]) -> None:
    rest = sorted(range(1, len(costs)), key=costs.__getitem__)
    assert order_of(costs) == [0, *rest]


def test_expensive_work_has_its_turn_although_cheap_work_keeps_coming() -> None:
    async def run() -> int:
        queue, order = FairQueue(), list[int]()
        tasks = [asyncio.create_task(turn(queue, 1, 0, order)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(turn(queue, 10, 1, order)))
        for _ in range(100):  # two pieces of cheap work always wait
            while len(tasks) < len(order) + 4:
                tasks.append(asyncio.create_task(turn(queue, 1, 0, order)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return order.index(1)

    # beside two others, it gets a third of the time
    assert 20 <= asyncio.run(run()) <= 40


def test_the_place_is_given_back_by_work_that_is_cancelled() -> None:
    async def run() -> None:
        queue, order = FairQueue(), list[int]()
        for moments in range(6):  # cancelled while waiting, when admitted, while running
            tasks = [asyncio.create_task(turn(queue, 1, name, order)) for name in range(9)]
            for _ in range(moments):
                await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
        inside, most, entered = 0, 0, 0

        async def enter() -> None:
            nonlocal inside, most, entered
            async with queue.turn(1):
                inside += 1
                most, entered = max(most, inside), entered + 1
                await asyncio.sleep(0)
                inside -= 1

        async with asyncio.timeout(60):
            await asyncio.gather(*(enter() for _ in range(10)))
        assert (most, entered) == (1, 10)

    asyncio.run(run())


def test_work_that_fails_gives_its_place_back() -> None:
    async def run() -> None:
        queue = FairQueue()
        with pytest.raises(ValueError, match="broken"):
            async with queue.turn(1):
                raise ValueError("broken")
        async with asyncio.timeout(10), queue.turn(1):
            pass

    asyncio.run(run())

"""Work beside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.engine.stalls import StallDetector
from service.errors import NotReadyError
from service.translation.offload import Check, run_in_thread


def test_an_executor_that_is_shut_down_means_that_the_service_stops() -> None:
    executor = ThreadPoolExecutor(1)

    async def run() -> str:
        busy = StallDetector(lambda: 0.0).busy("work")
        return await run_in_thread(lambda check: "done", lambda: 0.0, 60.0, executor, busy)

    assert asyncio.run(run()) == "done"
    executor.shutdown()
    with pytest.raises(NotReadyError, match="stopping"):
        asyncio.run(run())


def test_work_that_checks_regularly_does_not_hang() -> None:
    now, longest = 0.0, []
    watch = StallDetector(lambda: now)

    def work(check: Check) -> None:
        nonlocal now
        for seconds in (1.0, 2.0, 1.0):
            watch.longest()
            now += seconds
            longest.append(watch.longest())
            check()
        longest.append(watch.longest())

    async def run() -> None:
        with ThreadPoolExecutor(1) as executor:
            await run_in_thread(work, lambda: now, 60.0, executor, watch.busy("work"))

    asyncio.run(run())
    assert longest == [("work", 1.0), ("work", 2.0), ("work", 1.0), ("work", 0.0)]
    assert watch.longest() == ("nothing", 0.0)

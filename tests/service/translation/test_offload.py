"""Work beside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.errors import NotReadyError
from service.translation.offload import run_in_thread


def test_an_executor_that_is_shut_down_means_that_the_service_stops() -> None:
    executor = ThreadPoolExecutor(1)

    async def run() -> str:
        return await run_in_thread(lambda check: "done", lambda: 0.0, 60.0, executor)

    assert asyncio.run(run()) == "done"
    executor.shutdown()
    with pytest.raises(NotReadyError, match="stopping"):
        asyncio.run(run())

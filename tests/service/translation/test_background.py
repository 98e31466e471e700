"""Work on an event loop of another thread, and how its end is told."""

import asyncio
from collections.abc import Iterator

import pytest

from service.errors import CancelledError, DeadlineExceededError, NotReadyError
from service.translation.background import Background, taken


@pytest.fixture
def background() -> Iterator[Background]:
    one = Background("worker", lambda: None)
    yield one
    if one.refuse_new():
        one.end()


def test_what_is_not_done_at_the_end_is_cancelled_by_an_error_of_ours(
    background: Background,
) -> None:
    async def stopped() -> None:
        while background._is_closed is False:
            await asyncio.sleep(0)
        raise NotReadyError("the engine takes nothing more")

    async def deaf() -> int:
        try:
            return await endless()
        except asyncio.CancelledError:
            return 7

    begun = [background.start(work) for work in (endless(), stopped())]
    late = background.start(deaf())
    assert background.refuse_new()
    background.end()
    for future in begun:
        with pytest.raises(CancelledError, match="the worker was closed"):
            taken(future.result(60))
    assert taken(late.result(60)) == 7
    assert not background.refuse_new()
    with pytest.raises(RuntimeError, match="the worker is closed"):
        background.start(endless())


def test_before_the_end_errors_are_those_of_the_work(
    background: Background, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(error: Exception) -> None:
        raise error

    for error in (DeadlineExceededError("late"), NotReadyError("no"), ValueError("wrong")):
        with pytest.raises(type(error)):
            background.start(fails(error)).result(60)
    given_up = background.start(endless())
    assert given_up.cancel()
    assert background.refuse_new()
    background.end()
    assert caplog.records == []


async def endless() -> int:
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

"""Loading models on demand: shared loads, waiting, and failures."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from service.errors import BundleError, DeadlineExceededError, ModelUnavailableError
from service.models.loading import ServedModel
from service.models.pool import RETRY_SECONDS
from service.models.pooled_model import PooledModel
from service.models.proof import StuckError, run_with_timeout
from tests.service.models.pools import SIZE, Loaded, Machine, Pooled, use
from tests.waiting import until, wait_until


def test_concurrent_requests_share_one_load(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"])

    async def together() -> list[str]:
        return await asyncio.gather(*(use(model) for _ in range(20)))

    assert asyncio.run(together()) == ["a"] * 20
    assert asyncio.run(use(model)) == "a"
    assert machine.loads == ["a"]
    assert model.state == "loaded"


def test_waiting_for_a_load_ends_at_the_deadline(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"])
    machine.may_load.clear()
    with pytest.raises(DeadlineExceededError, match=r"not loaded within the deadline of 0\.02 s"):
        asyncio.run(use(model, 0.02))
    machine.may_load.set()
    wait_until(lambda: model.loaded is not None)
    assert model.users == 0


def test_waiting_for_a_load_can_be_cancelled(machine: Machine, pooled: Pooled) -> None:
    _, [a, b] = pooled(["a", "b"])
    machine.may_load.clear()

    async def run() -> None:
        waiting = [asyncio.ensure_future(use(model)) for model in (a, b)]
        await until(lambda: machine.loads == ["a"])
        for task in waiting:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        machine.may_load.set()
        await until(lambda: a.loaded is not None)

    asyncio.run(run())
    assert asyncio.run(use(a)) == "a"
    assert machine.loads == ["a"], "what nobody waited for any more was loaded"
    assert (a.users, b.users) == (0, 0)


def test_a_failed_load_is_retried_later(machine: Machine, pooled: Pooled) -> None:
    _, [model, other] = pooled(["a", "b"])
    machine.broken = BundleError(" is damaged", Path("/secret/models/a/decoder"))
    with pytest.raises(ModelUnavailableError, match="tiny cannot be loaded: a/decoder is damaged"):
        asyncio.run(use(model))
    machine.broken = None
    with pytest.raises(ModelUnavailableError) as failure:
        asyncio.run(use(model))
    assert failure.value.retry_after == RETRY_SECONDS
    assert model.state == "failed"
    assert asyncio.run(use(other)) == "b"
    machine.now += RETRY_SECONDS
    assert model.refusal == ""  # ready, so that a request comes
    assert (model.state, model.failure) == (
        "failed",
        "tiny cannot be loaded: a/decoder is damaged",
    )
    assert asyncio.run(use(model)) == "a"
    assert (model.state, model.failure) == ("loaded", "")
    assert machine.loads == ["a", "b", "a"]


def test_a_load_that_is_stuck_is_not_tried_again_meanwhile(
    machine: Machine, pooled: Pooled
) -> None:
    """Each attempt would leave a thread at work, and the model's memory."""
    _, [model, other] = pooled(["a", "b"])
    goes_on = threading.Event()
    machine.broken = BundleError(": its graphs loop", Path("a"))
    with pytest.raises(StuckError) as stuck:
        run_with_timeout(0.0, lambda: goes_on.wait(60))
    machine.broken.__cause__ = stuck.value
    with pytest.raises(ModelUnavailableError, match="its graphs loop"):
        asyncio.run(use(model))
    machine.broken = None
    machine.now += 100 * RETRY_SECONDS
    with pytest.raises(ModelUnavailableError, match="its graphs loop"):
        asyncio.run(use(model))
    assert asyncio.run(use(other)) == "b"
    goes_on.set()
    assert model.stuck is not None
    assert model.stuck.__traceback__ is None, "it would keep the failed model in memory"
    wait_until(stuck.value.has_ended)
    assert asyncio.run(use(model)) == "a"


def test_errors_do_not_end_the_pools_thread(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, requests would wait until their deadlines, and the service would report that it is ready."""
    pool, [a, b] = pooled(["a", "b"], max_bytes=SIZE)
    resident = pool._resident
    monkeypatch.setattr(pool, "_resident", raising(OSError("too many open files")))
    with pytest.raises(ModelUnavailableError, match="the server's log says why"):
        asyncio.run(use(a))
    monkeypatch.setattr(pool, "_resident", resident)
    machine.now += RETRY_SECONDS
    assert asyncio.run(use(a)) == "a"
    loaded = cast(Any, a.loaded)
    close = loaded.close

    def fails() -> None:
        close()
        raise MemoryError

    monkeypatch.setattr(loaded, "close", fails)
    assert asyncio.run(use(b)) == "b"  # which had the other one unloaded
    assert asyncio.run(use(a)) == "a"


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_a_request_that_comes_when_all_others_have_left_is_not_forgotten(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, [a, b] = pooled(["a", "b"])
    machine.may_load.clear()
    pool.ask(a)
    pool.give_back(b, pool.ask(b))
    asked: list[Future[ServedModel]] = []
    load = pool._load

    def then_somebody_asks(model: PooledModel) -> None:
        load(model)
        # `b` was not loaded, as nobody waited for it, but its turn is not over
        if model is b and not asked:
            asked.append(pool.ask(b))

    monkeypatch.setattr(pool, "_load", then_somebody_asks)
    machine.may_load.set()
    wait_until(lambda: bool(asked))
    assert cast(Loaded, asked[0].result(timeout=60)).name == "b"


def test_randomly_cancelled_requests_leave_no_users_behind(
    machine: Machine, pooled: Pooled
) -> None:
    _, models = pooled(["a", "b", "c"], max_bytes=2 * SIZE)

    async def run() -> int:
        tasks = [
            asyncio.ensure_future(use(models[number * 7 % 3], 0.001 * (number % 5) or 10))
            for number in range(300)
        ]
        for number, task in enumerate(tasks):
            if number % 3 == 0:
                await asyncio.sleep(0)
                task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(
            isinstance(one, str | TimeoutError | DeadlineExceededError | asyncio.CancelledError)
            for one in found
        )
        return sum(isinstance(one, str) for one in found)

    assert asyncio.run(run()) > 0
    wait_until(lambda: not any(model.users or model.waiting for model in models))
    assert len(machine.loaded) <= 2


def test_the_pool_goes_on_after_an_error_wherever_it_happens(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, (first, second) = pooled(["a", "b"])
    unused, errors = pool._unused, [MemoryError()] * 2  # for the turn, and for the wait

    def failing(*given: Any) -> list[PooledModel]:
        if errors:
            raise errors.pop()
        return unused(*given)

    monkeypatch.setattr(pool, "_unused", failing)
    pool.load(first)
    pool.load(second)
    assert machine.loaded == ["a", "b"]
    assert not errors

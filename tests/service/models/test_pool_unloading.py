"""Unloading idle and removed models, and closing a pool; no request waits forever."""

import asyncio
from typing import cast

import pytest

from service.errors import NotReadyError
from service.models.model_set import ModelSet
from tests.service.models.pools import SIZE, Ended, Loaded, Machine, Pooled, use
from tests.waiting import until, wait_until


def test_idle_models_are_unloaded(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"], idle_seconds=60)
    asyncio.run(use(model))
    machine.now = 59
    asyncio.run(use(model))
    machine.now = 118
    assert machine.loaded == ["a"]
    machine.now = 120
    wait_until(lambda: machine.loaded == [])
    assert asyncio.run(use(model)) == "a"


def test_a_removed_model_is_unloaded_once_it_is_unused(machine: Machine, pooled: Pooled) -> None:
    pool, [model] = pooled(["a"])

    async def run() -> None:
        async with model.lease(10):
            pool.remove([model])
            assert await use(model) == "a"
            assert machine.loads == machine.loaded == ["a"]

    asyncio.run(run())
    wait_until(lambda: machine.loaded == [])


def test_a_model_removed_before_its_load_is_unloaded(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b] = pooled(["a", "b"])
    machine.may_load.clear()
    asked = [pool.ask(a), pool.ask(b)]
    pool.remove([b])
    machine.may_load.set()
    for model, future in zip([a, b], asked, strict=True):
        assert cast(Loaded, future.result(60)).name == model.bundle.folder.name
        pool.give_back(model, future)
    wait_until(lambda: machine.loaded == ["a"])


def test_a_removed_model_in_use_does_not_delay_others(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b] = pooled(["a", "b"])

    async def run() -> None:
        async with a.lease(10):
            pool.remove([a])
            assert await use(b) == "b"

    asyncio.run(run())
    wait_until(lambda: machine.loaded == ["b"])


def test_a_model_can_be_loaded_again_after_an_error_while_it_was_unloaded(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        monkeypatch.undo()
        raise MemoryError

    _, [model] = pooled(["a"], idle_seconds=60)
    asyncio.run(use(model))
    monkeypatch.setattr("service.models.pool.trim", fail)
    machine.now = 120
    wait_until(lambda: machine.loaded == [])
    assert asyncio.run(use(model)) == "a"


def test_one_can_wait_until_a_removed_model_is_unloaded(machine: Machine, pooled: Pooled) -> None:
    pool, [model] = pooled(["a"])

    async def run() -> None:
        async with model.lease(10):
            pool.remove([model])
            waiting = asyncio.ensure_future(asyncio.to_thread(pool.wait_until_unloaded, [model]))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            asked = pool.ask(model)
        await asyncio.sleep(0.05)
        assert not waiting.done(), "another request uses it"
        pool.give_back(model, asked)
        await waiting
        assert machine.loaded == []

    asyncio.run(run())


def test_closing_a_pool_ends_the_wait_for_a_removed_model(pooled: Pooled) -> None:
    pool, [model] = pooled(["a"])

    async def run() -> None:
        async with model.lease(10):
            pool.remove([model])
            waiting = asyncio.ensure_future(asyncio.to_thread(pool.wait_until_unloaded, [model]))
            assert await asyncio.to_thread(pool.close)
            await waiting

    asyncio.run(run())


def test_close_fails_waiting_requests(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b] = pooled(["a", "b"], max_bytes=SIZE)

    async def run() -> None:
        async with a.lease(10):
            waiting = asyncio.ensure_future(use(b))
            await until(lambda: a.is_leaving)
            assert await asyncio.to_thread(pool.close)
            with pytest.raises(NotReadyError):
                await waiting
        with pytest.raises(NotReadyError):
            await use(b)

    asyncio.run(run())
    assert machine.loads == ["a"]


def test_close_does_not_wait_for_a_load_that_hangs(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.models.pool.CLOSE_SECONDS", 0.05)
    pool, [model] = pooled(["a"])
    machine.may_load.clear()
    asked = pool.ask(model)
    wait_until(lambda: machine.loads == ["a"])
    assert not pool.close()
    monkeypatch.undo()
    assert isinstance(asked.exception(timeout=60), NotReadyError)
    machine.may_load.set()
    pool.has_hung = False  # closed once more, it ends


def test_a_model_unloaded_during_a_check_has_not_failed(machine: Machine, pooled: Pooled) -> None:
    _, [a, b, c] = pooled(["a", "b", "c"])
    models = ModelSet([], 1000, [a, b, c])
    for one in (a, b):
        asyncio.run(use(one))
        cast(Loaded, one.loaded).engine = Ended(one)
    assert models.check()
    assert models.models == []
    asyncio.run(use(c))
    cast(Loaded, c.loaded).engine = Ended(None)
    assert not models.check()

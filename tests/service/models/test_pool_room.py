"""A pool with limited memory: which models are unloaded, and which requests wait."""

import asyncio
import time
from concurrent.futures import Future
from typing import cast

import pytest

from service.errors import BundleError, DeadlineExceededError, ModelUnavailableError
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from tests.service.models.pools import SIZE, Loaded, Machine, Pooled, use
from tests.waiting import until, wait_until


def test_the_least_recently_used_model_is_unloaded(machine: Machine, pooled: Pooled) -> None:
    _, models = pooled(["a", "b", "c"], max_bytes=2 * SIZE)
    a, b, c = models
    for at, model in enumerate([a, b, a, c, a]):
        machine.now = at
        asyncio.run(use(model))
        assert len(machine.loaded) <= 2
    assert machine.loads == ["a", "b", "c"]
    assert machine.loaded == ["a", "c"]
    assert [one.state for one in models] == ["loaded", "unloaded", "loaded"]


def test_a_model_in_use_is_not_unloaded(machine: Machine, pooled: Pooled) -> None:
    _, [a, b] = pooled(["a", "b"], max_bytes=SIZE)

    async def run() -> None:
        async with a.lease(10):
            others = [asyncio.ensure_future(use(b))]
            await until(lambda: a.is_leaving)
            others.append(asyncio.ensure_future(use(a)))
            await asyncio.sleep(0.02)
            assert machine.loaded == ["a"], "it was unloaded, or another took its room"
        assert await asyncio.gather(*others) == ["b", "a"]  # who came meanwhile is not forgotten

    asyncio.run(run())
    assert machine.loads == ["a", "b", "a"]


def test_the_first_model_that_becomes_unused_is_unloaded(machine: Machine, pooled: Pooled) -> None:
    _, [a, b, c] = pooled(["a", "b", "c"], max_bytes=2 * SIZE)

    async def run() -> None:
        async with a.lease(10):
            machine.now = 1
            async with b.lease(10):
                machine.now = 2
                waiting = asyncio.ensure_future(use(c))
                await until(lambda: a.is_leaving)
                late = asyncio.ensure_future(use(a))
                await asyncio.sleep(0)
            assert await waiting == "c", "it waited for the one used longest ago"
            assert await late == "a", "who came while it was to leave was forgotten"

    asyncio.run(run())
    assert machine.loads == ["a", "b", "c"]
    assert machine.loaded == ["a", "c"]


def test_an_abandoned_load_does_not_delay_others(machine: Machine, pooled: Pooled) -> None:
    _, [a, b, c] = pooled(["a", "b", "c"], max_bytes=2 * SIZE)
    b.bytes = 2 * SIZE

    async def run() -> None:
        async with a.lease(10):
            with pytest.raises(DeadlineExceededError):
                await use(b, 0.02)
            assert await use(c) == "c"
            assert await use(a) == "a"

    asyncio.run(run())
    assert machine.loads == ["a", "c"]


def test_a_request_that_leaves_while_it_waits_is_forgotten(
    machine: Machine, pooled: Pooled
) -> None:
    pool, [a, b] = pooled(["a", "b"], max_bytes=SIZE)
    in_use, asked = pool.ask(a), [pool.ask(b) for _ in range(3)]
    wait_until(lambda: a.is_leaving)
    for future in asked[1:]:
        pool.give_back(b, future)
    assert list(b.waiting) == asked[:1]
    pool.give_back(a, in_use)
    assert cast(Loaded, asked[0].result(60)).name == "b"
    pool.give_back(b, asked[0])
    assert machine.loaded == ["b"]


def test_a_reload_takes_at_most_twice_the_memory(
    machine: Machine, pooled: Pooled, caplog: pytest.LogCaptureFixture
) -> None:
    pool, [used, *new] = pooled(["used", "a", "b", "c", "d"], max_bytes=2 * SIZE)
    in_use = pool.ask(used)
    in_use.result(60)
    pool.is_replacing = True
    pool.load(*new)
    assert machine.loads == ["used", "a", "b", "c"]
    assert "no room in memory: tiny" in caplog.text
    pool.give_back(used, in_use)


def test_a_new_model_stays_while_the_one_that_it_replaces_works(
    machine: Machine, pooled: Pooled
) -> None:
    pool, [old, new, other] = pooled(["old", "new", "other"], max_bytes=SIZE)
    in_use = pool.ask(old)
    in_use.result(60)
    pool.is_replacing = True
    pool.load(new)
    pool.remove([old])
    time.sleep(0.05)  # for several checks
    assert machine.loaded == ["old", "new"]
    pool.give_back(old, in_use)
    pool.wait_until_unloaded([old])
    assert machine.loaded == ["new"]
    machine.now = 1
    pool.load(other)  # from now on, the limit counts again
    wait_until(lambda: machine.loaded == ["other"])


def test_no_model_is_unloaded_for_an_abandoned_load(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b, c, d] = pooled(["a", "b", "c", "d"], max_bytes=2 * SIZE)
    asyncio.run(use(a))
    c.bytes, d.bytes = 2 * SIZE, 0  # for `d`, there is room
    machine.may_load.clear()
    machine.broken = BundleError("of another format")
    asked = [pool.ask(model) for model in (b, c, d)]
    pool.give_back(c, asked[1])
    machine.may_load.set()
    assert isinstance(asked[2].exception(60), ModelUnavailableError)
    assert machine.loads == ["a", "b", "d"]
    assert machine.loaded == ["a"]


def test_no_model_is_unloaded_if_the_wait_is_abandoned_at_the_last_moment(
    machine: Machine, pooled: Pooled
) -> None:
    pool, [a, b] = pooled(["a", "b"], max_bytes=SIZE)
    in_use = pool.ask(a)
    in_use.result(60)
    asked = pool.ask(b)
    wait_until(lambda: a.is_leaving)
    with pool._changed:  # the pool sees both at once
        pool.give_back(b, asked)
        pool.give_back(a, in_use)
    wait_until(lambda: not a.is_leaving)
    assert asyncio.run(use(a)) == "a"
    assert machine.loads == ["a"]


def test_a_request_that_arrives_as_others_leave_waits_for_room(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, [a, b] = pooled(["a", "b"], max_bytes=SIZE)
    in_use, asked, late = pool.ask(a), pool.ask(b), list[Future[ServedModel]]()
    make_room = pool._make_room

    def then_somebody_asks(wanted: PooledModel | None) -> bool:
        found = make_room(wanted)
        if asked.cancelled() and not late:
            late.append(pool.ask(b))
        return found

    monkeypatch.setattr(pool, "_make_room", then_somebody_asks)
    wait_until(lambda: a.is_leaving)
    pool.give_back(b, asked)
    wait_until(lambda: bool(late) and (a.is_leaving or b.loaded is not None))
    assert machine.loaded == ["a"]
    pool.give_back(a, in_use)
    assert cast(Loaded, late[0].result(60)).name == "b"
    assert machine.loaded == ["b"]


def test_only_what_fits_is_preloaded(
    machine: Machine, pooled: Pooled, caplog: pytest.LogCaptureFixture
) -> None:
    pool, models = pooled(["a", "b", "c"], max_bytes=2 * SIZE)
    pool.preload(models)
    assert machine.loaded == ["a", "b"]
    assert "no room in memory: tiny" in caplog.text
    caplog.clear()
    assert pool.preload(models[:2]) == []  # they are loaded, and need no more room
    assert caplog.text == ""

"""A pool of models: who waits, who shares, who is unloaded, and that nobody is forgotten."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from service.errors import (
    BundleError,
    DeadlineExceededError,
    ModelUnavailableError,
    NotReadyError,
)
from service.models.bundle import Bundle, describe
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.models.pool import RETRY_SECONDS, ModelPool
from service.models.pooled_model import PooledModel
from tests.conftest import TINY_BUNDLE
from tests.waiting import until, wait_until

SIZE = 100
"""Of each model, in the memory of these tests."""


class Machine:
    """Models that do nothing but exist, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.loaded: list[str] = []
        self.loads: list[str] = []
        self.broken: Exception | None = None
        self.may_load = threading.Event()
        self.may_load.set()

    def start(self, bundle: Bundle) -> ServedModel:
        name = bundle.folder.name
        self.loads.append(name)
        assert self.may_load.wait(60)
        if self.broken is not None:
            raise self.broken
        self.loaded.append(name)
        return cast(ServedModel, Loaded(self, name))

    def pool(self, **limits: Any) -> ModelPool:
        return ModelPool(
            self.start, **limits, resident=lambda: SIZE * len(self.loaded), clock=lambda: self.now
        )


class Loaded:
    """One of its models."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name = machine, name
        self.engine: Ended

    def close(self) -> bool:
        self.machine.loaded.remove(self.name)
        return True


class Ended:
    """An engine that does not work; if it is that of `model`, a pool unloads it while it is looked at."""

    def __init__(self, model: PooledModel | None) -> None:
        self.model = model

    def check(self) -> bool:
        if self.model is not None:
            self.model.pool.remove([self.model])
            wait_until(lambda: self.model is not None and self.model.loaded is None)
        return False


@pytest.fixture
def machine() -> Machine:
    return Machine()


Pooled = Callable[..., tuple[ModelPool, list[PooledModel]]]


@pytest.fixture
def pooled(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pooled]:
    monkeypatch.setattr("service.models.pool.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("service.models.pool.gc.collect", lambda: 0)  # there is nothing to collect
    pools: list[ModelPool] = []

    def make(names: Sequence[str], **limits: Any) -> tuple[ModelPool, list[PooledModel]]:
        pools.append(machine.pool(**limits))
        manifest = describe(TINY_BUNDLE).manifest
        models = [PooledModel(Bundle(Path(name), manifest), pools[-1]) for name in names]
        for model in models:
            model.bytes = SIZE
        return pools[-1], models

    yield make
    machine.may_load.set()
    for pool in pools:
        assert pool.close()
    assert machine.loaded == []


async def use(model: PooledModel, timeout: float = 10) -> str:
    async with model.lease(timeout) as loaded:
        return cast(Loaded, loaded).name


def test_requests_share_one_load(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"])

    async def together() -> list[str]:
        return await asyncio.gather(*(use(model) for _ in range(20)))

    assert asyncio.run(together()) == ["a"] * 20
    assert asyncio.run(use(model)) == "a"
    assert machine.loads == ["a"]
    assert model.state == "loaded"


def test_the_one_used_longest_ago_makes_room(machine: Machine, pooled: Pooled) -> None:
    _, models = pooled(["a", "b", "c"], max_bytes=2 * SIZE)
    a, b, c = models
    for at, model in enumerate([a, b, a, c, a]):
        machine.now = at
        asyncio.run(use(model))
        assert len(machine.loaded) <= 2
    assert machine.loads == ["a", "b", "c"]
    assert machine.loaded == ["a", "c"]
    assert [one.state for one in models] == ["loaded", "unloaded", "loaded"]


def test_a_model_is_not_unloaded_while_it_serves(machine: Machine, pooled: Pooled) -> None:
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


def test_of_models_in_use_the_first_that_is_free_makes_room(
    machine: Machine, pooled: Pooled
) -> None:
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


def test_a_model_that_nobody_waits_for_any_more_holds_up_nobody(
    machine: Machine, pooled: Pooled
) -> None:
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


def test_nothing_makes_room_for_one_whose_waiters_have_left_the_line(
    machine: Machine, pooled: Pooled
) -> None:
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


def test_nor_for_one_whose_waiters_leave_just_as_a_model_is_free(
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


def test_who_asks_just_as_the_others_leave_waits_for_room_too(
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


def test_whoever_waits_for_a_load_has_its_deadline(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"])
    machine.may_load.clear()
    with pytest.raises(DeadlineExceededError, match=r"not loaded within the deadline of 0\.02 s"):
        asyncio.run(use(model, 0.02))
    machine.may_load.set()
    wait_until(lambda: model.loaded is not None)
    assert model.users == 0


def test_whoever_waits_for_a_load_can_leave(machine: Machine, pooled: Pooled) -> None:
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


def test_one_that_fails_is_tried_again_later(machine: Machine, pooled: Pooled) -> None:
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
    assert asyncio.run(use(model)) == "a"
    assert machine.loads == ["a", "b", "a"]


def test_no_error_ends_the_thread_that_loads_and_unloads(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody would wait for it until their deadlines, and the service would call itself ready."""
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


def test_what_is_idle_is_unloaded(machine: Machine, pooled: Pooled) -> None:
    _, [model] = pooled(["a"], idle_seconds=60)
    asyncio.run(use(model))
    machine.now = 59
    asyncio.run(use(model))
    machine.now = 118
    assert machine.loaded == ["a"]
    machine.now = 120
    wait_until(lambda: machine.loaded == [])
    assert asyncio.run(use(model)) == "a"


def test_only_what_fits_is_preloaded(
    machine: Machine, pooled: Pooled, caplog: pytest.LogCaptureFixture
) -> None:
    pool, models = pooled(["a", "b", "c"], max_bytes=2 * SIZE)
    pool.preload(models)
    assert machine.loaded == ["a", "b"]
    assert "no room in memory: tiny" in caplog.text


def test_one_that_is_removed_goes_when_it_is_done(machine: Machine, pooled: Pooled) -> None:
    pool, [model] = pooled(["a"])

    async def run() -> None:
        async with model.lease(10):
            pool.remove([model])
            assert await use(model) == "a"
            assert machine.loads == machine.loaded == ["a"]

    asyncio.run(run())
    wait_until(lambda: machine.loaded == [])


def test_one_that_is_removed_before_it_is_loaded_goes_too(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b] = pooled(["a", "b"])
    machine.may_load.clear()
    asked = [pool.ask(a), pool.ask(b)]
    pool.remove([b])
    machine.may_load.set()
    for model, future in zip([a, b], asked, strict=True):
        assert cast(Loaded, future.result(60)).name == model.bundle.folder.name
        pool.give_back(model, future)
    wait_until(lambda: machine.loaded == ["a"])


def test_one_that_is_removed_and_in_use_holds_up_nobody(machine: Machine, pooled: Pooled) -> None:
    pool, [a, b] = pooled(["a", "b"])

    async def run() -> None:
        async with a.lease(10):
            pool.remove([a])
            assert await use(b) == "b"

    asyncio.run(run())
    wait_until(lambda: machine.loaded == ["b"])


def test_nobody_waits_for_a_pool_that_is_closed(machine: Machine, pooled: Pooled) -> None:
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


def test_nor_for_a_load_that_does_not_end(
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


def test_who_asks_while_others_leave_is_not_refused(
    machine: Machine, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, [a, b] = pooled(["a", "b"])
    machine.may_load.clear()
    pool.ask(a)
    assert pool.ask(b).cancel()
    asked: list[Future[ServedModel]] = []
    fail = pool._fail

    def late(model: PooledModel) -> None:
        """Somebody asks between the look at who waits and their refusal."""
        thread = threading.Thread(target=lambda: asked.append(pool.ask(model)))
        thread.start()
        thread.join(0.1)  # it waits for the lock
        fail(model)

    monkeypatch.setattr(pool, "_fail", late)
    machine.may_load.set()
    wait_until(lambda: bool(asked))
    assert cast(Loaded, asked[0].result(timeout=60)).name == "b"


def test_what_is_unloaded_while_it_is_looked_at_has_not_failed(
    machine: Machine, pooled: Pooled
) -> None:
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


def test_of_requests_cancelled_at_random_none_is_counted_for_ever(
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

"""Fakes for testing pools: models that do nothing, and a clock that stands still."""

import threading
from collections.abc import Callable
from typing import Any, cast

from service.models.bundle import Bundle
from service.models.loading import ServedModel
from service.models.pool import ModelPool
from service.models.pooled_model import PooledModel
from tests.waiting import wait_until

SIZE = 100
"""Size of each fake model in the fake memory."""


class Machine:
    """Fake models with a fake memory and a clock that stands still."""

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
    """A fake model."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name = machine, name
        self.engine: Ended

    def close(self) -> bool:
        self.machine.loaded.remove(self.name)
        return True


class Ended:
    """An engine that does not work. If it belongs to `model`, the pool unloads that during the check."""

    def __init__(self, model: PooledModel | None) -> None:
        self.model = model

    def check(self) -> bool:
        if self.model is not None:
            self.model.pool.remove([self.model])
            wait_until(lambda: self.model is not None and self.model.loaded is None)
        return False


Pooled = Callable[..., tuple[ModelPool, list[PooledModel]]]
"""Makes a pool and its models, by name."""


async def use(model: PooledModel, timeout: float = 10) -> str:
    """Wait for a model, give it back at once, and return its name."""
    async with model.lease(timeout) as loaded:
        return cast(Loaded, loaded).name

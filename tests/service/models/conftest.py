"""Fixtures: pools of fake models, and bundles that tests may change."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from service.models.bundle import Bundle, describe
from service.models.pool import ModelPool
from service.models.pooled_model import PooledModel
from tests.conftest import TINY_BUNDLE
from tests.service.models.pools import SIZE, Machine, Pooled


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def pooled(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pooled]:
    """Make pools, which are closed after the test, and check that no model is left."""
    monkeypatch.setattr("service.models.pool.CHECK_SECONDS", 0.01)
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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tiny bundle, which the test may change."""
    return Path(shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "bundle"))

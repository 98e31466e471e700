"""A load that does not end, while no model is loaded: others cannot be loaded either."""

import shutil
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import BundleError
from service.metrics import Metrics
from service.models.bundle import Bundle, load
from service.models.model_store import ModelStore
from service.settings import Settings
from tests.conftest import TINY_BUNDLE


class Disk:
    """Reads bundles, and hangs if it is told to."""

    def __init__(self) -> None:
        self.is_read, self.goes_on = threading.Event(), threading.Event()
        self.hangs = True

    def load(self, folder: Path) -> Bundle:
        if not self.hangs:
            return load(folder)
        self.is_read.set()
        assert self.goes_on.wait(60)
        raise BundleError(" cannot be read")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """Return the disk from which models are loaded."""
    disk = Disk()
    monkeypatch.setattr("service.models.folder.load", disk.load)
    yield disk
    disk.goes_on.set()


def settings_with(names: str, folder: Path) -> Settings:
    """Return settings with copies of the tiny model."""
    for name in names:
        shutil.copytree(TINY_BUNDLE, folder / name)
    return Settings(bundles=folder, device="cpu")


@pytest.mark.parametrize(("timeout", "limit"), [(5, 60), (90, 90)])
def test_a_load_that_takes_longer_than_requests_wait_is_an_obstacle(
    disk: Disk, tmp_path: Path, timeout: float, limit: int
) -> None:
    clock = count()
    store = ModelStore(settings_with("ab", tmp_path), Metrics(), clock=lambda: float(next(clock)))
    model, _ = store.load().pooled
    waiting = model.pool.ask(model)
    assert disk.is_read.wait(60)
    obstacles = [store.obstacle(timeout) for _ in range(limit + 1)]
    assert obstacles[: limit - 1] == [None] * (limit - 1)
    assert obstacles[-1] == f"the loading of tiny has not ended for {limit + 1} s"
    disk.goes_on.set()
    waiting.exception(60)
    assert store.obstacle(timeout) is None
    store.stop()


def test_a_loaded_model_serves_whatever_happens_to_others(disk: Disk, tmp_path: Path) -> None:
    clock = count()
    store = ModelStore(settings_with("ab", tmp_path), Metrics(), clock=lambda: float(next(clock)))
    disk.hangs = False
    first, second = store.load().pooled
    first.pool.load(first)
    disk.hangs = True
    waiting = second.pool.ask(second)
    assert disk.is_read.wait(60)
    assert [store.obstacle(5) for _ in range(70)] == [None] * 70
    disk.goes_on.set()
    waiting.exception(60)
    store.stop()


def test_with_an_obstacle_the_service_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TestClient(create_app(settings_with("a", tmp_path))) as client:
        assert client.get("/health/ready").status_code == 200
        obstacle = "the check of a has not ended for 61 s"
        monkeypatch.setattr(ModelStore, "obstacle", lambda _, timeout: obstacle)
        for path in ("/health", "/health/ready", "/v2/health/ready"):
            assert client.get(path).status_code == 503, path
        answer = client.get("/health/ready").json()
    assert answer["code"] == "model_unavailable"
    assert answer["error"].endswith("no model can be loaded: the check of a has not ended for 61 s")

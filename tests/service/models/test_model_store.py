"""Loads that are stopped, loads that hang, and what is told after a load."""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from service.errors import BundleError, ModelUnavailableError, NotReadyError
from service.metrics import Metrics
from service.models import model_store
from service.models.bundle import Bundle
from service.models.loading import ServedModel, start_model
from service.models.model_set import ModelSet
from service.models.model_store import ModelStore
from service.models.proof import StuckError
from service.settings import Settings
from tests.conftest import TINY_BUNDLE
from tests.waiting import wait_until


class Loads:
    """Blocks loads until they are allowed."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = threading.Event()

    def start(self, *given: Any) -> ServedModel:
        self.count += 1
        assert self.may_end.wait(60)
        return start_model(*given)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    found = Loads()
    monkeypatch.setattr(model_store, "start_model", found.start)
    yield found
    found.may_end.set()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pivot": "english"}, "english"),
        ({"pivot": "fr"}, "fr"),
        ({"pivot": "EN"}, None),
        ({"pivot": "eng"}, None),
        ({"pivot": "off"}, None),
        ({}, None),
    ],
)
def test_a_pivot_that_no_models_have_is_told(
    given: dict[str, str], told: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(bundle=(TINY_BUNDLE,), device="cpu", num_workers=1, **given)  # type: ignore[arg-type]
    store = ModelStore(settings, Metrics())
    with caplog.at_level(logging.WARNING, "service.models.model_store"):
        store.load()
    store.stop()
    expected = (
        f"ATTENDANT_PIVOT = {told} changes nothing: no models translate both into and from it"
    )
    assert caplog.messages == ([expected] if told else [])


def test_a_default_pivot_that_no_models_have_is_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class ByDefaultFrench(Settings):
        pivot: str = "fr"

    store = ModelStore(ByDefaultFrench(bundle=(TINY_BUNDLE,), device="cpu"), Metrics())
    with caplog.at_level(logging.WARNING, "service.models.model_store"):
        store.load()
    store.stop()
    assert not caplog.messages


def test_stop_does_not_wait_for_the_first_load(loads: Loads) -> None:
    store = ModelStore(Settings(bundle=(TINY_BUNDLE,), device="cpu"), Metrics())
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(store.load)
        wait_until(lambda: loads.count == 1)
        store.stop()
        assert (store.is_loading, store.has_hung) == (True, False)
        loads.may_end.set()
        assert isinstance(loading.exception(60), NotReadyError)
    assert store.current is None


def test_stop_ends_a_preload_after_the_current_model(loads: Loads, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        shutil.copytree(TINY_BUNDLE, tmp_path / name)
    store = ModelStore(Settings(bundles=tmp_path, preload=("all",), device="cpu"), Metrics())
    with ThreadPoolExecutor(2) as threads:
        loading = threads.submit(store.load)
        wait_until(lambda: loads.count == 1)
        stopping = threads.submit(store.stop)
        wait_until(lambda: store._folder is not None and store._folder.pool._is_closing)
        loads.may_end.set()
        stopping.result(60)
        loading.exception(60)
    assert loads.count == 1
    assert not store.has_hung


def test_a_slow_preload_does_not_count_as_hung(
    loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.models.pool.CLOSE_SECONDS", 0.05)
    shutil.copytree(TINY_BUNDLE, tmp_path / "a")
    store = ModelStore(Settings(bundles=tmp_path, preload=("all",), device="cpu"), Metrics())
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(store.load)
        wait_until(lambda: loads.count == 1)
        store.stop()
        assert not store.has_hung
        loads.may_end.set()
        loading.exception(60)


def test_a_reload_that_hangs_is_a_failure_after_ten_minutes(loads: Loads) -> None:
    clock, seconds = count(), 0
    settings = Settings(bundle=(TINY_BUNDLE,), device="cpu")
    store = ModelStore(settings, Metrics(), clock=lambda: float(next(clock)))
    loads.may_end.set()
    store.load()
    loads.may_end.clear()
    with ThreadPoolExecutor(1) as threads:
        reloading = threads.submit(store.load)
        wait_until(lambda: loads.count == 2)
        while (failure := store.check()) is None:
            seconds += 1
        assert 599 <= seconds <= 601
        assert failure == "the loading of tiny has not ended for 600 s"
        store.stop()  # does not wait for the reload
        assert store.has_hung
        loads.may_end.set()
        assert isinstance(reloading.exception(60), NotReadyError)


def test_a_model_of_the_folder_whose_files_cannot_be_read_to_the_end_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "a")
    clock, is_read, may_end = count(), threading.Event(), threading.Event()

    def hanging(_: Path) -> Bundle:
        is_read.set()
        assert may_end.wait(60)
        raise BundleError(" cannot be read")

    monkeypatch.setattr("service.models.folder.load", hanging)
    settings = Settings(bundles=tmp_path / "models", device="cpu")
    store = ModelStore(settings, Metrics(), clock=lambda: float(next(clock)))
    [model] = store.load().pooled
    try:
        waiting = model.pool.ask(model)
        assert is_read.wait(60)
        failures = [store.check() for _ in range(602)]
        assert failures[:599] == [None] * 599
        assert failures[-1] == "the check of a has not ended for 601 s"
    finally:
        may_end.set()
    waiting.exception(60)
    store.stop()


def test_each_model_has_ten_minutes_to_load(loads: Loads, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(TINY_BUNDLE, tmp_path / name)
    clock = count()
    settings = Settings(bundle=(tmp_path / "a", tmp_path / "b"), device="cpu")
    store = ModelStore(settings, Metrics(), clock=lambda: float(next(clock)))
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(store.load)
        wait_until(lambda: loads.count == 1)
        assert [store.check() for _ in range(590)] == [None] * 590
        loads.may_end.set()
        loads.may_end.clear()
        wait_until(lambda: loads.count == 2)
        assert [store.check() for _ in range(590)] == [None] * 590
        loads.may_end.set()
        loading.result(60)
    assert store.check() is None
    store.stop()


def once_awaited(
    store: ModelStore, call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call `call` when a load begins to wait for the replaced models."""
    retiring = store._retiring
    assert retiring is not None
    join = retiring.join

    def call_and_join() -> None:
        call()
        join()

    monkeypatch.setattr(retiring, "join", call_and_join)


def test_a_reload_waits_until_the_models_replaced_before_have_finished(
    loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_finish = threading.Event()
    monkeypatch.setattr(ModelSet, "drain", lambda self, seconds: may_finish.wait(seconds))
    monkeypatch.setattr(model_store, "GRACE_SECONDS", 0.0)
    loads.may_end.set()
    store = ModelStore(Settings(bundle=(TINY_BUNDLE,), device="cpu"), Metrics())
    sets = [store.load(), store.load()]

    def finish() -> None:
        assert (loads.count, [one.is_alive for one in sets]) == (2, [True, True])
        may_finish.set()

    once_awaited(store, finish, monkeypatch)
    sets.append(store.load())
    assert not sets[0].is_alive, "it did not wait"
    wait_until(lambda: [one.is_alive for one in sets] == [False, False, True])
    assert loads.count == 3
    store.stop()


def test_a_reload_waits_until_the_models_of_the_folder_replaced_before_are_unloaded(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_store, "GRACE_SECONDS", 0.0)
    shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "a")
    loads.may_end.set()
    settings = Settings(bundles=tmp_path / "models", preload=("all",), device="cpu")
    store = ModelStore(settings, Metrics(), drain_seconds=0.0)
    [old] = store.load().pooled
    used = old.pool.ask(old)
    (tmp_path / "models" / "a").rename(tmp_path / "models" / "b")
    [new] = store.load().pooled

    def finish() -> None:
        assert (old.state, new.state) == ("loaded", "loaded")
        old.pool.give_back(old, used)

    once_awaited(store, finish, monkeypatch)
    store.load()
    assert (old.state, new.state) == ("unloaded", "loaded"), "it did not wait"
    store.stop()


def unless_retiring(thread: threading.Thread, start: Any = threading.Thread.start) -> None:
    """Start a thread, unless it is to end replaced models."""
    if thread.name == "retire":
        raise RuntimeError("can't start new thread")
    start(thread)


def test_models_that_a_reload_replaces_are_unloaded_even_if_it_fails_to_end_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_store, "GRACE_SECONDS", 0.0)
    shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "a")
    settings = Settings(bundles=tmp_path / "models", preload=("all",), device="cpu")
    store = ModelStore(settings, Metrics(), drain_seconds=0.0)
    [old] = store.load().pooled
    (tmp_path / "models" / "a").rename(tmp_path / "models" / "b")

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", unless_retiring)
        patched.setattr(store, "_finish", fail)
        with pytest.raises(MemoryError):
            store.load()
    assert (old.state, old.pool.is_replacing) == ("unloaded", False)
    store.stop()


def test_replaced_models_end_also_if_there_are_no_more_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_store, "GRACE_SECONDS", 0.0)
    store = ModelStore(Settings(bundle=(TINY_BUNDLE,), device="cpu"), Metrics())
    replaced = store.load()
    monkeypatch.setattr(threading.Thread, "start", unless_retiring)
    current = store.load()
    assert (replaced.is_alive, current.is_alive) == (False, True)
    assert store.load() is store.current
    store.stop()


def test_a_load_that_hangs_when_the_service_stops_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TINY_BUNDLE, tmp_path / "a")
    stuck, has_ended = BundleError(" loops"), False
    stuck.__cause__ = StuckError(lambda: has_ended)

    def hang(*_: Any) -> ServedModel:
        raise stuck

    monkeypatch.setattr(model_store, "start_model", hang)
    for has_ended in (False, True):
        store = ModelStore(Settings(bundles=tmp_path, device="cpu"), Metrics())
        [model] = store.load().pooled
        with pytest.raises(ModelUnavailableError, match="loops"):
            model.pool.load(model)
        store.stop()
        assert store.has_hung is not has_ended
    store = ModelStore(Settings(bundle=(TINY_BUNDLE,), device="cpu"), Metrics())
    with pytest.raises(BundleError, match="loops"):
        store.load()
    assert store.has_hung


def test_models_of_one_name_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b"):
        shutil.copytree(TINY_BUNDLE, tmp_path / name)
    store = ModelStore(Settings(bundles=tmp_path, device="cpu"), Metrics())
    with caplog.at_level(logging.WARNING, "service.models.model_store"):
        store.load()
    store.stop()
    assert caplog.messages == ["2 models are named tiny: a request that names it gets the first"]


def test_a_stop_during_a_reload_that_does_not_end_is_told(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(model_store, "GRACE_SECONDS", 0.0)
    loads.may_end.set()
    settings = Settings(bundle=(TINY_BUNDLE,), device="cpu")
    store = ModelStore(settings, Metrics(), drain_seconds=0.05)
    store.load()
    loads.may_end.clear()
    with ThreadPoolExecutor(1) as threads:
        reload = threads.submit(store.load)
        wait_until(lambda: loads.count == 2)
        store.stop()
        loads.may_end.set()
        assert isinstance(reload.exception(60), NotReadyError)
    assert store.has_hung
    assert "the models are still being loaded after 0.05 s" in caplog.messages

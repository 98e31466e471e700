"""The process of the service."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from service import process
from service.app import create_app
from service.process import GC_THRESHOLD, _server, tune_garbage_collection
from service.settings import Settings
from service.threads import ThreadError


class Node:
    """Refers to itself, so that only the garbage collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("collector_as_before")
def test_objects_from_startup_are_exempt_from_garbage_collection_and_later_ones_are_not() -> None:
    before = [Node() for _ in range(100)]
    tune_garbage_collection()
    assert not any(one is two for one in gc.get_objects() for two in before[:1])
    later = weakref.ref(Node())
    made = [Node() for _ in range(2 * GC_THRESHOLD)]  # what is freed meanwhile is subtracted
    assert later() is None
    assert len(made) > GC_THRESHOLD


def test_the_number_of_processes_is_not_read_from_the_environment(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "auto")
    assert _server(settings, create_app(settings)).config.workers == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "out of memory"),
        (ThreadError("engine-0"), "the thread engine-0 could not be started"),
    ],
)
def test_limits_that_are_too_low_end_the_start_with_a_reason(
    error: Exception,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(process, "create_app", fail)
    monkeypatch.setattr("service.logs.configure", lambda *_: None)
    assert process.main([]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")

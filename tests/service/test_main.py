"""The process of the service."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from service.app import create_app
from service.process import GC_THRESHOLD, _server, tune_garbage_collection
from service.settings import Settings


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

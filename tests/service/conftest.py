"""Fixtures: a set of models without HTTP, and a log that goes only to pytest."""

import logging
from collections.abc import Iterator

import pytest

from service.logs import LogWriter
from service.metrics import Metrics
from service.models.model_set import ModelSet
from service.settings import Settings
from tests.service.translating import start


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def models(metrics: Metrics) -> Iterator[ModelSet]:
    started = start(Settings(precision="fp32", device="cpu"), metrics)
    yield started
    started.close()


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)
    for handler in root.handlers[:]:
        if isinstance(handler, LogWriter):
            root.removeHandler(handler)
            handler.close()

"""A set of models without HTTP."""

from collections.abc import Iterator

import pytest

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

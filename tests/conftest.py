"""Fixtures for many tests: the tiny bundle, and a service with it, without a network."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import settings as hypothesis_settings

from service.app import create_app
from service.settings import Settings
from tests.waiting import wait_until

# the same examples in each run without a deadline, so that a failure comes from the change under test
hypothesis_settings.register_profile("same", derandomize=True, deadline=None, database=None)
hypothesis_settings.load_profile("same")


def pytest_sessionstart() -> None:
    """Disable garbage collection while tests and libraries are imported, since their objects stay alive."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the existing objects from garbage collection and enable it."""
    gc.freeze()
    gc.enable()


TINY_BUNDLE = Path(__file__).parent / "data" / "tiny_bundle"


@pytest.fixture
def tiny_bundle() -> Path:
    """A bundle of the toy language in fp32 and int8; see make_tiny_bundle.py."""
    return TINY_BUNDLE


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Settings for the tiny bundle in fp32, with limits that tests can reach."""
    return Settings(
        bundle=(TINY_BUNDLE,),
        precision="fp32",
        device="cpu",
        num_workers=1,
        max_text_characters=2000,
        max_body_bytes=10_000,
    )


@pytest.fixture(scope="session")
def client(settings: Settings) -> Iterator[TestClient]:
    """A service shared by all tests, which must not change it or rely on earlier requests."""
    with started(settings.model_copy(update={"num_workers": 2})) as client:
        yield client


@pytest.fixture
def fresh_client(settings: Settings) -> Iterator[TestClient]:
    """A service for a single test."""
    with started(settings) as client:
        yield client


@contextmanager
def started(settings: Settings) -> Iterator[TestClient]:
    """Start a service with these settings, and wait until it is ready."""
    app = create_app(settings)
    with TestClient(app, raise_server_exceptions=False) as client:
        # each request takes the core from the thread that loads the bundle
        wait_until(lambda: client.get("/health/ready").status_code == 200, 180, pause_seconds=0.01)
        yield client

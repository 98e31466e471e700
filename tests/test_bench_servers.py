"""Servers that benchmarks start receive no requests before they are ready."""

import sys
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench import over_http

WAITS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that advances with sleep; `answers` are a server's answers, second by second."""
    clock = SimpleNamespace(now=0.0, answers=lambda now: None)

    def sleep(seconds: float) -> None:
        clock.now += seconds

    def ask(url: str, timeout: float) -> Any:
        if status := clock.answers(clock.now):
            raise urllib.error.HTTPError(url, status, "", Message(), None)
        return SimpleNamespace(read=lambda: b"")

    time = SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    monkeypatch.setattr(over_http, "time", time)
    monkeypatch.setattr("urllib.request.urlopen", ask)
    return clock


def test_a_slow_start_is_waited_for(clock: SimpleNamespace) -> None:
    clock.answers = lambda now: 503 if now < 200 else None
    with over_http.started(WAITS, 1):
        assert clock.now >= 200


def test_a_server_that_never_becomes_ready_is_an_error(clock: SimpleNamespace) -> None:
    clock.answers = lambda now: 503
    with (
        pytest.raises(RuntimeError, match="is not ready after 600 s"),
        over_http.started(WAITS, 1),
    ):
        pytest.fail("it was asked")
    assert clock.now >= over_http.READY_SECONDS


def test_a_peer_without_a_readiness_check_is_ready_once_it_listens(clock: SimpleNamespace) -> None:
    clock.answers = lambda now: 404
    with over_http.started(WAITS, 1):
        assert clock.now == 0

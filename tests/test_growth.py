"""The test helper that distinguishes linear from quadratic time does so."""

import time
from collections.abc import Callable

import pytest

from tests import growth


@pytest.mark.parametrize(
    ("milliseconds", "found"),
    [
        (lambda n: 5 * n, ""),
        (lambda n: 20 + n, ""),
        (lambda n: 0.6 * n * n, ""),  # too little time to tell
        (lambda n: 5 * n * n, "4 x: 80.0 ms, 2 x: 20.0 ms, 1 x: 5.0 ms"),
        (lambda n: 4 * n * n + 2 * n, "4 x: 72.0 ms, 2 x: 20.0 ms, 1 x: 6.0 ms"),
        (lambda n: 2**n, ""),
        (lambda n: 4**n, "4 x: 256.0 ms, 2 x: 16.0 ms, 1 x: 4.0 ms"),
        (lambda n: 0.8 if n < 2 else 20, ""),
        (lambda n: 0.8 if n < 4 else 20, ""),
    ],
)
def test_growth_beyond_linear_is_distinguished_from_jumps(
    monkeypatch: pytest.MonkeyPatch, milliseconds: Callable[[int], float], found: str
) -> None:
    now = 0.0

    def step(times: int) -> None:
        nonlocal now
        now += milliseconds(times) / 1e3

    monkeypatch.setattr(time, "thread_time", lambda: now)
    assert growth.beyond_linear(step, lambda times: times) == found

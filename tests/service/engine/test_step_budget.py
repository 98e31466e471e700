"""The number of steps between two iterations of a worker."""

import math

import pytest

from service.engine.config import EngineConfig
from service.engine.step_budget import step_budget


@pytest.mark.parametrize(
    ("workers", "rows", "step_ms", "others_wait", "is_alone", "expected"),
    [
        # while others wait: twice the minimum, or until a quarter of the rows is free for them
        (2, 16, 1.0, True, False, (8, 4)),
        (2, 3, 1.0, True, False, (8, 1)),
        # nobody waits: as many as fit in 8 ms, and no fewer than 4
        (2, 5, 1.0, False, False, (8, 1)),
        (2, 16, 4.0, False, False, (4, 1)),
        # a lone sentence may take three times as long, unless the next one has no other worker
        (2, 1, 1.0, False, True, (24, 1)),
        (1, 1, 1.0, False, True, (8, 1)),
        # however fast they are
        (2, 1, 0.01, False, True, (32, 1)),
        (2, 5, 0.01, False, False, (32, 1)),
        # before the first step nobody knows
        (2, 1, math.inf, False, True, (4, 1)),
    ],
)
def test_the_number_of_steps_depends_on_load_and_speed(
    workers: int,
    rows: int,
    step_ms: float,
    expected: tuple[int, int],
    *,
    others_wait: bool,
    is_alone: bool,
) -> None:
    config = EngineConfig(num_workers=workers, steps_per_run=4, seconds_per_run=0.008)
    found = step_budget(config, rows, step_ms / 1e3, others_wait=others_wait, is_alone=is_alone)
    assert found == expected

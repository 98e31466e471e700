"""What the bar says, by a clock of its own."""

import pytest

from service.bulk.progress import ProgressBar


def test_rate_and_time_left() -> None:
    now = 100.0
    bar = ProgressBar(1_000_000, clock=lambda: now)
    now = 110.0
    bar.add(100_000, 1_000, 1_200)  # an earlier run may have done some of it
    assert bar.line() == "[##                  ]  10%  1,000 lines, 120.0 sentences/s"
    now = 120.0
    bar.add(200_000, 1_000, 1_200)
    # 800,000 bytes left at 100,000 in ten seconds
    assert bar.line() == (
        "[####                ]  20%  2,000 lines, 120.0 sentences/s, 0:01:20 left"
    )


@pytest.mark.parametrize("total", [0, 10])
def test_the_end_is_all_of_it(total: int) -> None:
    bar = ProgressBar(total, clock=lambda: 0.0)
    bar.add(total, 1, 1)
    assert "] 100%  1 lines" in bar.line()

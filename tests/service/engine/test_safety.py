"""The margin that is added to estimates: their worst recent error, within bounds."""

import random
from collections.abc import Callable

from service.engine.safety import KEPT, LEAST_MARGIN, MOST_MARGIN, SafetyMargin


def test_the_margin_is_between_half_and_all_of_the_estimate() -> None:
    margin = SafetyMargin()
    assert margin.added_to(4.0) == LEAST_MARGIN * 4.0
    margin.add(estimated=4.0, seconds=3.0)  # it was done sooner
    assert margin.added_to(4.0) == LEAST_MARGIN * 4.0
    margin.add(estimated=0.1, seconds=60.0)  # a stall
    assert margin.added_to(4.0) == MOST_MARGIN * 4.0


def test_the_worst_error_is_remembered_for_one_to_two_thousand_outcomes() -> None:
    margin = SafetyMargin()
    margin.add(estimated=4.0, seconds=7.0)
    for count in range(2 * KEPT):
        if count < KEPT:
            assert margin.added_to(4.0) == 7.0
        margin.add(estimated=4.0, seconds=4.0)
    assert margin.added_to(4.0) == LEAST_MARGIN * 4.0


def test_one_error_in_a_thousand_exceeds_the_margin_for_any_distribution() -> None:
    rng = random.Random(5)
    draws: tuple[Callable[[], float], ...] = (
        lambda: rng.gauss(6.0, 0.1),
        lambda: 6.0 + rng.random(),
        lambda: 6.0 + rng.betavariate(2, 9),
    )
    for draw in draws:
        margin, exceeded, count = SafetyMargin(), 0, 20 * KEPT
        for _ in range(KEPT):
            margin.add(4.0, draw())
        for _ in range(count):
            seconds = draw()
            exceeded += seconds > margin.added_to(4.0)
            margin.add(4.0, seconds)
        assert exceeded <= 2 * count / KEPT

"""Runaway translations are recognised, and of two results the better one is given out."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.engine.types import FinishReason, Hypothesis
from service.translation.guards import better, is_suspect, loops

REPEATED = re.compile(r"(.)\1{7}|(.{2,8})\2{3}", re.DOTALL)
LOOP = (5, 6) * 4
SOUND = (5, 6, 7)


def result(ids: tuple[int, ...], reason: FinishReason = FinishReason.END) -> Hypothesis:
    return Hypothesis(ids, -1.0, reason)


@given(st.lists(st.integers(0, 2), max_size=40))
@example([0] * 7)
@example([0] * 8)
@example([0, 1] * 3 + [0])
@example([*range(8)] * 4)
@example([*range(9)] * 4)  # longer than what is looked for
@example([2, *[0, 1, 1] * 3, 0, 1])
@example([2, *[0, 1, 1] * 4, 2])
def test_loops_are_detected_like_by_a_regular_expression(ids: list[int]) -> None:
    assert loops(ids) == (REPEATED.search("".join(map(chr, ids))) is not None)


@pytest.mark.parametrize(
    ("source", "best", "suspect"),
    [
        (SOUND, result(SOUND), False),
        (SOUND, result(()), True),
        (SOUND, result(SOUND, FinishReason.LENGTH), True),
        (SOUND, result(LOOP), True),
        (LOOP, result(LOOP), False),  # "ha ha ha ha" is to be translated as it is
        (LOOP, result(LOOP, FinishReason.LENGTH), True),
    ],
)
def test_runaway_translations_are_suspect(
    source: tuple[int, ...], best: Hypothesis, suspect: bool
) -> None:
    assert is_suspect(source, best) is suspect


CUT, EMPTY = result(SOUND, FinishReason.LENGTH), result(())


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        (result(LOOP), result(SOUND), True),
        (CUT, result(SOUND), True),
        (EMPTY, result(SOUND), True),
        (EMPTY, CUT, True),
        (EMPTY, EMPTY, False),
        (result(LOOP), EMPTY, False),
        (result(LOOP), CUT, True),
        (CUT, CUT, False),
        (CUT, result(LOOP), False),
    ],
)
def test_the_better_of_two_results_is_chosen(
    first: Hypothesis, second: Hypothesis, taken: bool
) -> None:
    assert better(SOUND, [first], [second]) is taken

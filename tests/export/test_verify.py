"""The proof before publication lets through what its tolerances say, and nothing else."""

import math

import pytest

from export.verify import TOLERANCES, VerificationError, verify
from model.search import Found
from service.engine.types import FinishReason, Hypothesis

REFERENCE = [[Found((n, n + 1), -1.0, True), Found((n,), -2.0, True)] for n in range(10)]


def engine(
    score: float = -1.0, different: int = 0, second: tuple[int, ...] | None = None
) -> list[list[Hypothesis]]:
    """The reference's lists; of the first `different` ones the best is another, of all the second."""
    lists = []
    for n, expected in enumerate(REFERENCE):
        best = (99,) if n < different else expected[0].ids
        lists.append(
            [
                Hypothesis(best, score, FinishReason.END),
                Hypothesis(second or expected[1].ids, -2.0, FinishReason.END),
            ]
        )
    return lists


def test_what_is_equal_passes_and_is_described() -> None:
    line = verify("fp32", REFERENCE, engine())
    assert line.startswith("fp32: 10 of 10 translations equal the reference's, scores differ by 0")


def test_fp32_must_agree_in_the_whole_list() -> None:
    with pytest.raises(VerificationError, match=r"0 of 10 .* at least 100% must be equal"):
        verify("fp32", REFERENCE, engine(second=(98,)))
    assert "10 of 10" in verify("int8", REFERENCE, engine(second=(98,)))


@pytest.mark.parametrize(("precision", "different"), [("fp32", 0), ("fp16", 1), ("int8", 4)])
def test_so_many_sentences_may_differ_and_no_more(precision: str, different: int) -> None:
    [name] = [one for one in TOLERANCES if one == precision]
    assert f"{10 - different} of 10" in verify(name, REFERENCE, engine(different=different))
    with pytest.raises(VerificationError, match=f"{9 - different} of 10"):
        verify(name, REFERENCE, engine(different=different + 1))


@pytest.mark.parametrize("score", [-1.2, -0.8, math.nan])
def test_scores_that_are_off_or_no_number_fail(score: float) -> None:
    with pytest.raises(VerificationError, match=r"the limit is 0\.1"):
        verify("int8", REFERENCE, engine(score=score))

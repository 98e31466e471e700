"""Verification accepts exactly what its tolerances allow."""

import math

import pytest
import sacrebleu

from export.verify import TOLERANCES, VerificationError, verify
from model.search import Found
from service.engine.types import FinishReason, Hypothesis
from service.models.bundle import Precision

WORDS = [
    *("the", "old", "dog", "of", "my", "good", "friend", "sees", "a", "small", "house"),
    *("that", "stands", "by", "our", "green", "river"),
]
LENGTH = 6
REFERENCE = [
    [Found((*range(n, n + LENGTH),), -1.0, True), Found((n,), -2.0, True)] for n in range(10)
]


def piece(id: int) -> str:
    return f"▁{WORDS[id]}"


def text(ids: tuple[int, ...]) -> str:
    return " ".join(WORDS[id] for id in ids)


def engine(
    score: float = -1.0,
    other: dict[int, tuple[int, ...]] | None = None,
    second: tuple[int, ...] | None = None,
) -> list[list[Hypothesis]]:
    """Return the reference's lists; `other` replaces some best hypotheses, `second` all second ones."""
    return [
        [
            Hypothesis((other or {}).get(n, best.ids), score, FinishReason.END),
            Hypothesis(second or next_best.ids, -2.0, FinishReason.END),
        ]
        for n, (best, next_best) in enumerate(REFERENCE)
    ]


def test_equal_translations_pass_and_are_described() -> None:
    line = verify("fp32", REFERENCE, engine(), piece)
    assert line.startswith(
        "fp32: 10 of 10 translations equal the reference's, chrF against it 100.0, scores differ by 0"
    )


def test_empty_translations_count_as_equal() -> None:
    reference = [[Found((), -1.0, True)]]
    found = [[Hypothesis((), -1.0, FinishReason.END)]]
    assert "1 of 1 translations equal the reference's, chrF against it 100.0" in verify(
        "int8", reference, found, piece
    )


def test_fp32_must_agree_in_the_whole_n_best_list() -> None:
    with pytest.raises(VerificationError, match=r"0 of 10 .*; all must be equal"):
        verify("fp32", REFERENCE, engine(second=(15,)), piece)
    with pytest.raises(VerificationError, match=r"9 of 10 .*; all must be equal"):
        verify("fp32", REFERENCE, engine(other={0: (0, 1)}), piece)
    assert "10 of 10" in verify("int8", REFERENCE, engine(second=(15,)), piece)


def without_last_word(count: int) -> dict[int, tuple[int, ...]]:
    return {n: tuple(range(n, n + LENGTH - 1)) for n in range(count)}


def test_int8_may_lose_a_word_in_half_the_sentences_but_not_whole_sentences() -> None:
    found = engine(other=without_last_word(5))
    chrf = sacrebleu.corpus_chrf(
        [text(one[0].ids) for one in found], [[text(one[0].ids) for one in REFERENCE]]
    ).score
    assert f"5 of 10 translations equal the reference's, chrF against it {chrf:.1f}" in verify(
        "int8", REFERENCE, found, piece
    )
    elsewhere = {n: tuple(range(9, 9 + LENGTH)) for n in range(4)}
    with pytest.raises(VerificationError, match=r"6 of 10 .*; the least chrF is"):
        verify("int8", REFERENCE, engine(other=elsewhere), piece)


def test_fp16_must_be_closer_to_the_reference_than_int8() -> None:
    other = without_last_word(3)
    assert "7 of 10" in verify("int8", REFERENCE, engine(other=other), piece)
    with pytest.raises(VerificationError, match=r"7 of 10 .*; the least chrF is 98"):
        verify("fp16", REFERENCE, engine(other=other), piece)


@pytest.mark.parametrize("score", [-1.5, -0.5, math.nan])
def test_scores_that_are_too_far_off_or_nan_fail(score: float) -> None:
    with pytest.raises(
        VerificationError, match=r"the limit on average is 0\.1; .* leave int8 out of --precisions"
    ):
        verify("int8", REFERENCE, engine(score=score), piece)


def test_scores_of_random_sources_may_be_further_off() -> None:
    assert "10 of 10" in verify("int8", REFERENCE, engine(score=-1.3), piece, has_text=False)
    with pytest.raises(VerificationError, match=r"the limit on average is 0\.4"):
        verify("int8", REFERENCE, engine(score=-1.5), piece, has_text=False)
    with pytest.raises(VerificationError, match=r"the limit on average is 0\.02"):
        verify("fp16", REFERENCE, engine(score=-1.3), piece, has_text=False)


@pytest.mark.parametrize("precision", TOLERANCES)
def test_translations_that_all_differ_fail(precision: Precision) -> None:
    other = without_last_word(10)
    with pytest.raises(VerificationError):
        verify(precision, REFERENCE, engine(other=other), piece)

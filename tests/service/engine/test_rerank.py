"""Reranking with hand-made scores, and the number of scorer runs it takes."""

import math
import threading

import numpy as np
import pytest

from service.engine.rerank import MARGIN, MAX_TOKENS, TOKENS_AT_ONCE, Reranker
from service.engine.types import (
    DecodingOptions,
    DecodingSequence,
    FinishReason,
    Floats,
    Hypothesis,
    Ints,
)
from tests.fakes import SPECIAL, EchoRunner

TAG, REVERSE_TAG = 1, 7
SOURCE = (TAG, 20, 21, 22, SPECIAL.eos)


class Judge(EchoRunner):
    """Returns given scores by the first token of the hypothesis."""

    def __init__(self, log_probs: dict[int, float]) -> None:
        super().__init__()
        self.log_probs = log_probs
        self.asked: list[tuple[list[list[int]], list[list[int]]]] = []

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        assert ((source_bias == 0) == (source_ids != SPECIAL.pad)).all()
        self.asked.append((source_ids.tolist(), target_ids.tolist()))
        return np.array([self.log_probs[row[1]] for row in source_ids], np.float32)


def found(*scores: float, length: int = 3) -> list[Hypothesis]:
    """Make hypotheses that begin with 100, 101 and so on."""
    return [
        Hypothesis((100 + n, *range(50, 49 + length + n)), score, FinishReason.END)
        for n, score in enumerate(scores)
    ]


def sequence(
    channel_tag: int | None = REVERSE_TAG, weight: float = 0.5, alpha: float = 1.0
) -> DecodingSequence:
    options = DecodingOptions(
        60, length_penalty=alpha, channel_tag=channel_tag, channel_weight=weight
    )
    return DecodingSequence(SOURCE, options, arrived=0.0)


def rank(
    judge: Judge, hypotheses: list[Hypothesis], asking: DecodingSequence | None = None
) -> list[Hypothesis]:
    """Rerank with one thread."""
    return Reranker(SPECIAL, threads=1).rank(judge, hypotheses, asking or sequence())


def order(ranked: list[Hypothesis]) -> list[int]:
    return [one.ids[0] - 100 for one in ranked]


def test_both_scores_are_divided_by_the_same_length_penalty() -> None:
    # by hand: lengths with EOS 4, 5, 6; penalties 1.5, 10/6, 11/6; weight 0.5
    # -1.0 - 0.5 * 3 / 1.5 = -2;  -1.2 - 0.5 * 1 / (10/6) = -1.5;  -1.1 - 0.5 * 2.2 / (11/6) = -1.7
    judge = Judge({100: -3.0, 101: -1.0, 102: -2.2})
    hypotheses = [found(-1.0, -1.2, -1.1)[n] for n in (0, 2, 1)]
    ranked = rank(judge, hypotheses)
    assert order(ranked) == [1, 2, 0]
    assert (
        sorted(ranked, key=hypotheses.index) == hypotheses
    )  # nothing is lost, and no score changed


def test_the_scorer_gets_each_hypothesis_as_its_source() -> None:
    judge = Judge({100: -1.0, 101: -1.0})
    rank(judge, found(-1.0, -1.1))
    [(sources, targets)] = judge.asked
    assert [[token for token in row if token != SPECIAL.pad] for row in sources] == [
        [REVERSE_TAG, 100, 50, 51, SPECIAL.eos],
        [REVERSE_TAG, 101, 50, 51, 52, SPECIAL.eos],
    ]
    [target] = targets  # which is the same for both
    assert [token for token in target if token != SPECIAL.pad] == [
        SPECIAL.bos,
        *SOURCE[1:],
    ]


def test_long_hypotheses_are_scored_in_parts() -> None:
    judge = Judge({100: -3.0, 101: -2.0, 102: -1.0})
    ranked = rank(judge, found(-1.0, -1.0, -1.0, length=100), sequence(weight=50.0))
    assert order(ranked) == [2, 1, 0]
    sizes = [len(sources) * len(sources[0]) for sources, _ in judge.asked]
    assert len(sizes) > 1
    assert max(sizes) <= TOKENS_AT_ONCE


def test_hypotheses_of_a_lone_sentence_are_scored_in_parallel() -> None:
    both_at_work = threading.Barrier(2)

    class Judges(Judge):
        def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
            both_at_work.wait(60)
            return super().score(source_ids, source_bias, target_ids)

    judge = Judges({100: -9.0, 101: -1.0, 102: -5.0})
    reranker = Reranker(SPECIAL, threads=2)
    try:
        ranked = reranker.rank(judge, found(-1.0, -1.0, -1.0), sequence(), is_alone=True)
    finally:
        reranker.close()
    assert order(ranked) == [1, 2, 0]
    assert sorted(len(sources) for sources, _ in judge.asked) == [1, 2]


def test_an_error_in_one_scoring_thread_fails_the_sentence() -> None:
    reranker = Reranker(SPECIAL, threads=2)
    try:
        with pytest.raises(KeyError, match="101"):
            reranker.rank(Judge({100: -9.0}), found(-1.0, -1.0), sequence(), is_alone=True)
    finally:
        reranker.close()


def test_hypotheses_below_the_margin_are_not_scored() -> None:
    judge = Judge({100: -9.0, 101: -1.0})
    ranked = rank(judge, found(-1.0, -1.0 - MARGIN / 2, -1.1 - MARGIN, -9.0))
    assert order(ranked) == [1, 0, 2, 3]
    assert len(judge.asked[0][0]) == 2


@pytest.mark.parametrize(
    ("hypotheses", "asking"),
    [
        (found(-1.0, -1.1), sequence(channel_tag=None)),
        (found(-1.0, -3.0), sequence()),
        (found(-1.0), sequence()),
        (found(-1.0, -1.1, length=MAX_TOKENS), sequence()),
    ],
)
def test_the_scorer_is_not_called_if_the_order_cannot_change(
    hypotheses: list[Hypothesis], asking: DecodingSequence
) -> None:
    judge = Judge({})
    assert rank(judge, hypotheses, asking) == hypotheses
    assert not judge.asked


@pytest.mark.parametrize("weight", [-0.1, math.inf, math.nan])
def test_an_invalid_channel_weight_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"channel_weight = .* must be a finite number"):
        DecodingOptions(60, channel_weight=weight)

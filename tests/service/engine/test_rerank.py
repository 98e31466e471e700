"""Ranking by both directions, by hand-made scores, and what it may cost."""

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
    """Finds the source as likely as it is told, by the first token of what it is to come from."""

    def __init__(self, log_probs: dict[int, float]) -> None:
        super().__init__()
        self.log_probs = log_probs
        self.asked: list[tuple[list[list[int]], list[list[int]]]] = []

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        assert ((source_bias == 0) == (source_ids != SPECIAL.pad)).all()
        self.asked.append((source_ids.tolist(), target_ids.tolist()))
        return np.array([self.log_probs[row[1]] for row in source_ids], np.float32)


def found(*scores: float, length: int = 3) -> list[Hypothesis]:
    """Hypotheses that begin with 100, 101 and so on."""
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
    """By one thread."""
    return Reranker(SPECIAL, threads=1).rank(judge, hypotheses, asking or sequence())


def order(ranked: list[Hypothesis]) -> list[int]:
    return [one.ids[0] - 100 for one in ranked]


def test_the_score_and_the_way_back_are_weighed_over_one_penalty() -> None:
    # by hand: lengths with EOS 4, 5, 6; penalties 1.5, 10/6, 11/6; weight 0.5
    # -1.0 - 0.5 * 3 / 1.5 = -2;  -1.2 - 0.5 * 1 / (10/6) = -1.5;  -1.1 - 0.5 * 2.2 / (11/6) = -1.7
    judge = Judge({100: -3.0, 101: -1.0, 102: -2.2})
    hypotheses = [found(-1.0, -1.2, -1.1)[n] for n in (0, 2, 1)]
    ranked = rank(judge, hypotheses)
    assert order(ranked) == [1, 2, 0]
    assert (
        sorted(ranked, key=hypotheses.index) == hypotheses
    )  # nothing is lost, and no score changed


def test_the_network_is_asked_for_the_source_from_each_hypothesis() -> None:
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


def test_long_hypotheses_are_judged_a_few_at_a_time() -> None:
    judge = Judge({100: -3.0, 101: -2.0, 102: -1.0})
    ranked = rank(judge, found(-1.0, -1.0, -1.0, length=100), sequence(weight=50.0))
    assert order(ranked) == [2, 1, 0]
    sizes = [len(sources) * len(sources[0]) for sources, _ in judge.asked]
    assert len(sizes) > 1
    assert max(sizes) <= TOKENS_AT_ONCE


def test_a_lone_sentences_hypotheses_are_judged_by_all_threads_at_the_same_time() -> None:
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


def test_what_one_thread_cannot_judge_fails_the_sentence() -> None:
    reranker = Reranker(SPECIAL, threads=2)
    try:
        with pytest.raises(KeyError, match="101"):
            reranker.rank(Judge({100: -9.0}), found(-1.0, -1.0), sequence(), is_alone=True)
    finally:
        reranker.close()


def test_what_is_far_behind_stays_there_unasked() -> None:
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
def test_nothing_is_asked_where_nothing_can_change(
    hypotheses: list[Hypothesis], asking: DecodingSequence
) -> None:
    judge = Judge({})
    assert rank(judge, hypotheses, asking) == hypotheses
    assert not judge.asked


@pytest.mark.parametrize("weight", [-0.1, math.inf, math.nan])
def test_a_weight_that_means_nothing_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"channel_weight = .* must be a finite number"):
        DecodingOptions(60, channel_weight=weight)

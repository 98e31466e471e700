"""The host's half of beam search against enumeration of every translation that exists."""

import itertools
import math
import random

import pytest

from service.engine.beam import BeamSearch
from service.engine.types import DecodingOptions, FinishReason, Hypothesis

EOS = 0
VOCABULARY = range(5)
LanguageModel = dict[tuple[int, ...], list[float]]


def random_model(length: int, seed: int) -> LanguageModel:
    """Log-probabilities of the next token after every prefix of fewer than `length` tokens."""
    rng = random.Random(seed)
    model = {}
    for size in range(length):
        for prefix in itertools.product(VOCABULARY[1:], repeat=size):
            weights = [rng.random() ** 3 for _ in VOCABULARY]
            model[prefix] = [math.log(weight / sum(weights)) for weight in weights]
    return model


def search(model: LanguageModel, options: DecodingOptions) -> BeamSearch:
    """Play the graph's part: all continuations of the live beams, sorted, the first 2K of them."""
    beam = BeamSearch(options, EOS)
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while not beam.is_done:
        candidates = sorted(
            (
                (total + log_prob, token, parent)
                for parent, (total, prefix) in enumerate(live)
                for token, log_prob in enumerate(model[prefix])
            ),
            reverse=True,
        )[: 2 * options.beam_size]
        survivors = [c for c in candidates if c[1] != EOS][: options.beam_size]
        live = [(score, (*live[parent][1], token)) for score, token, parent in survivors]
        scores, tokens, parents = zip(*candidates, strict=True)
        beam.advance(scores, tokens, parents)
    return beam


def all_translations(model: LanguageModel, length: int, alpha: float) -> list[Hypothesis]:
    """Every ended translation of at most `length` tokens, EOS counted, best first."""
    found = []
    for size in range(length):
        for ids in itertools.product(VOCABULARY[1:], repeat=size):
            steps = [model[ids[:at]][token] for at, token in enumerate((*ids, EOS))]
            score = sum(steps) / ((5 + size + 1) / 6) ** alpha
            found.append(Hypothesis(ids, score, FinishReason.END))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(seed: int, alpha: float) -> None:
    model = random_model(3, seed)
    every = all_translations(model, 3, alpha)
    options = DecodingOptions(
        max_decoding_length=3, beam_size=80, num_hypotheses=10, length_penalty=alpha
    )
    found = search(model, options).hypotheses()
    assert [h.ids for h in found] == [h.ids for h in every[:10]]
    assert [h.score for h in found] == pytest.approx([h.score for h in every[:10]])


@pytest.mark.parametrize("seed", range(10))
def test_one_beam_is_greedy(seed: int) -> None:
    model = random_model(6, seed)
    ids: tuple[int, ...] = ()
    while len(ids) < 6:
        token = max(VOCABULARY, key=model[ids].__getitem__)
        if token == EOS:
            break
        ids += (token,)
    found = search(model, DecodingOptions(max_decoding_length=6, beam_size=1)).hypotheses()
    assert [h.ids for h in found] == [ids]
    assert found[0].finish_reason is (FinishReason.LENGTH if len(ids) == 6 else FinishReason.END)


def test_an_end_below_the_beam_does_not_count() -> None:
    beam = BeamSearch(DecodingOptions(max_decoding_length=9, beam_size=2), EOS)
    beam.advance([-1, -2, -3, -4], [1, 2, EOS, 3], [0, 0, 0, 0])
    beam.advance([-1, -5, -6, -7], [EOS, 1, 2, EOS], [1, 0, 0, 1])
    assert not beam.is_done
    beam.advance([-2, -5, -6, -7], [4, EOS, 2, 3], [0, 1, 0, 1])
    assert beam.is_done
    assert [h.ids for h in beam.hypotheses()] == [(2,)]
    beam.advance([0, 0, 0, 0], [EOS] * 4, [0] * 4)
    assert [h.ids for h in beam.hypotheses()] == [(2,)], "a finished search takes nothing more in"


def test_more_hypotheses_than_beams_may_finish_in_one_step() -> None:
    beam = BeamSearch(DecodingOptions(max_decoding_length=9, beam_size=2, num_hypotheses=2), EOS)
    beam.advance([-1, -2, -3, -4], [EOS, 1, 2, 3], [0, 0, 0, 0])
    beam.advance([-2, -2.5, -6, -7], [EOS, EOS, 2, 3], [0, 1, 0, 1])
    assert [h.ids for h in beam.hypotheses()] == [(), (1,)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, "beam_size = 0 must be at least 1"),
        ({"num_hypotheses": 5}, "num_hypotheses = 5 must be from 1 to beam_size = 4"),
        ({"max_decoding_length": 0}, "max_decoding_length = 0 must be at least 1"),
    ],
)
def test_impossible_options_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodingOptions(**{"max_decoding_length": 9, **changes})

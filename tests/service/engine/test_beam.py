"""The host's part of beam search, compared with an enumeration of all possible translations."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from service.engine.beam import BeamSearch
from service.engine.types import DecodingOptions, FinishReason, Hypothesis, LengthNorm, StopRule

EOS = 0
VOCABULARY = range(5)
LanguageModel = dict[tuple[int, ...], list[float]]


def random_model(length: int, seed: int) -> LanguageModel:
    """Make random log-probabilities of the next token after every prefix of fewer than `length` tokens."""
    rng = random.Random(seed)
    model = {}
    for size in range(length):
        for prefix in itertools.product(VOCABULARY[1:], repeat=size):
            weights = [rng.random() ** 3 for _ in VOCABULARY]
            model[prefix] = [math.log(weight / sum(weights)) for weight in weights]
    return model


def search(model: LanguageModel, options: DecodingOptions) -> BeamSearch:
    """Do what the graph does: sort all continuations of the live beams, and return the best 2K."""
    beam = BeamSearch(options, EOS)
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while not beam.is_done:
        banned = set(beam.bans())
        candidates = sorted(
            (
                (-math.inf if (parent, token) in banned else total + log_prob, token, parent)
                for parent, (total, prefix) in enumerate(live)
                for token, log_prob in enumerate(model[prefix])
            ),
            reverse=True,
        )[: 2 * options.beam_size]
        survivors = [c for c in candidates if c[1] != EOS][: options.beam_size]
        live = [(score, (*live[parent][1], token)) for score, token, parent in survivors]
        scores, tokens, parents = zip(*candidates, strict=True)
        beam.advance(scores, tokens, parents)
        if beam.forced_token is not None:
            live = [(0.0, options.forced_tokens[: beam.length])]
    return beam


def best(beam: BeamSearch) -> list[Hypothesis]:
    """Return as many hypotheses as the options ask for."""
    return beam.candidates()[: beam.options.num_hypotheses]


PENALTIES: dict[LengthNorm, Callable[[int], float]] = {
    LengthNorm.WU: lambda length: (5 + length) / 6,
    LengthNorm.POWER: float,
}


def all_translations(
    model: LanguageModel, length: int, alpha: float, norm: LengthNorm = LengthNorm.WU
) -> list[Hypothesis]:
    """Return all complete translations of at most `length` tokens, including EOS, best first."""
    found = []
    for size in range(length):
        for ids in itertools.product(VOCABULARY[1:], repeat=size):
            steps = [model[ids[:at]][token] for at, token in enumerate((*ids, EOS))]
            score = sum(steps) / PENALTIES[norm](size + 1) ** alpha
            found.append(Hypothesis(ids, score, FinishReason.END))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("norm", LengthNorm)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_an_exhaustive_beam_finds_the_best_translation(
    seed: int, alpha: float, norm: LengthNorm
) -> None:
    model = random_model(3, seed)
    every = all_translations(model, 3, alpha, norm)
    options = DecodingOptions(
        3, beam_size=80, num_hypotheses=10, length_penalty=alpha, length_norm=norm
    )
    found = best(search(model, options))
    assert [h.ids for h in found] == [h.ids for h in every[:10]]
    assert [h.score for h in found] == pytest.approx([h.score for h in every[:10]])


@pytest.mark.parametrize("seed", range(10))
def test_a_single_beam_equals_greedy_search(seed: int) -> None:
    model = random_model(6, seed)
    ids: tuple[int, ...] = ()
    while len(ids) < 6:
        token = max(VOCABULARY, key=model[ids].__getitem__)
        if token == EOS:
            break
        ids += (token,)
    found = best(search(model, DecodingOptions(max_decoding_length=6, beam_size=1)))
    assert [h.ids for h in found] == [ids]
    assert found[0].finish_reason is (FinishReason.LENGTH if len(ids) == 6 else FinishReason.END)


def test_an_eos_outside_the_beam_does_not_finish_a_hypothesis() -> None:
    beam = BeamSearch(DecodingOptions(max_decoding_length=9, beam_size=2), EOS)
    beam.advance([-1, -2, -3, -4], [1, 2, EOS, 3], [0, 0, 0, 0])
    beam.advance([-1, -5, -6, -7], [EOS, 1, 2, EOS], [1, 0, 0, 1])
    assert not beam.is_done
    beam.advance([-2, -5, -6, -7], [4, EOS, 2, 3], [0, 1, 0, 1])
    assert beam.is_done
    assert [h.ids for h in best(beam)] == [(2,)]
    beam.advance([0, 0, 0, 0], [EOS] * 4, [0] * 4)
    assert [h.ids for h in best(beam)] == [(2,)], "a finished search takes nothing more in"


def test_more_hypotheses_than_beams_may_finish() -> None:
    beam = BeamSearch(DecodingOptions(max_decoding_length=9, beam_size=2, num_hypotheses=2), EOS)
    beam.advance([-1, -2, -3, -4], [EOS, 1, 2, 3], [0, 0, 0, 0])
    beam.advance([-2, -2.5, -6, -7], [EOS, EOS, 2, 3], [0, 1, 0, 1])
    assert [h.ids for h in best(beam)] == [(), (1,)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, "beam_size = 0 must be at least 1"),
        ({"num_hypotheses": 5}, "num_hypotheses = 5 must be from 1 to beam_size = 4"),
        ({"max_decoding_length": 0}, "max_decoding_length = 0 must be at least 1"),
        ({"length_penalty": float("nan")}, "length_penalty = nan must be a finite number"),
        ({"min_decoding_length": 9}, "min_decoding_length = 9 must be from 0 to less than"),
        ({"target_prefix": (1,) * 9}, "target_prefix's length = 9 must be from 0 to less than"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size = -1 must be at least 0"),
        (
            {"stop_rule": StopRule.BOUND, "length_penalty": -0.1},
            "stop_rule = bound needs a length_penalty of at least 0, not -0.1",
        ),
    ],
)
def test_invalid_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodingOptions(**{"max_decoding_length": 9, **changes})


OPTIONED: list[tuple[dict[str, Any], Callable[[tuple[int, ...]], bool]]] = [
    ({"min_decoding_length": 2}, lambda ids: len(ids) >= 2),
    ({"no_repeat_ngram_size": 1}, lambda ids: len(set(ids)) == len(ids)),
    ({"no_repeat_ngram_size": 2}, lambda ids: len(set(itertools.pairwise(ids))) >= len(ids) - 1),
    ({"target_prefix": (3, 1)}, lambda ids: ids[:2] == (3, 1)),
]


@pytest.mark.parametrize(("changes", "obeys"), OPTIONED)
def test_constraints_yield_the_best_translation_that_satisfies_them(
    changes: dict[str, Any], obeys: Callable[[tuple[int, ...]], bool]
) -> None:
    model = random_model(4, seed=5)
    options = DecodingOptions(
        max_decoding_length=4, beam_size=400, num_hypotheses=5, length_penalty=0.0, **changes
    )
    given = sum(
        model[options.target_prefix[:at]][token] for at, token in enumerate(options.target_prefix)
    )
    allowed = [h for h in all_translations(model, 4, 0.0) if obeys(h.ids)][:5]
    found = best(search(model, options))
    assert [h.ids for h in found] == [h.ids for h in allowed]
    assert [h.score for h in found] == pytest.approx([h.score - given for h in allowed])


def test_start_tokens_are_not_part_of_hypotheses() -> None:
    model = random_model(4, seed=5)
    shown = DecodingOptions(4, beam_size=400, num_hypotheses=5, target_prefix=(3, 1))
    hidden = replace(shown, start_tokens=(3,), target_prefix=(1,))
    expected = best(search(model, shown))
    assert best(search(model, hidden)) == [replace(h, ids=h.ids[1:]) for h in expected]
    model[3,][EOS] = -math.inf
    [found] = best(search(model, DecodingOptions(2, beam_size=1, start_tokens=(3,))))
    assert (len(found.ids), found.finish_reason) == (1, FinishReason.LENGTH)
    with pytest.raises(ValueError, match="target_prefix's length = 2 must be"):
        DecodingOptions(2, start_tokens=(3,), target_prefix=(1,))


def everything_a_beam_finds(model: LanguageModel, width: int, length: int) -> list[Hypothesis]:
    """Return all hypotheses of a beam search that never stops early, with plain log-probabilities."""
    found: list[Hypothesis] = []
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for _ in range(length):
        candidates = sorted(
            (
                (total + log_prob, (*prefix, token))
                for total, prefix in live
                for token, log_prob in enumerate(model[prefix])
            ),
            reverse=True,
        )
        ended = [c for c in candidates[:width] if c[1][-1] == EOS]
        found += [Hypothesis(ids[:-1], score, FinishReason.END) for score, ids in ended]
        live = [c for c in candidates if c[1][-1] != EOS][:width]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_rule_finds_the_same_as_a_full_search(seed: int) -> None:
    model = random_model(7, seed)
    every = everything_a_beam_finds(model, width=3, length=7)
    ranked = sorted(every, key=lambda h: -h.score / ((5 + len(h.ids) + 1) / 6) ** 0.6)
    options = DecodingOptions(7, beam_size=3, num_hypotheses=2, stop_rule=StopRule.BOUND)
    found = search(model, options)
    assert [h.ids for h in best(found)] == [h.ids for h in ranked[:2]]


def test_the_bound_rule_stops_before_the_maximum_length() -> None:
    beam = BeamSearch(DecodingOptions(50, beam_size=2, stop_rule=StopRule.BOUND), EOS)
    beam.advance([-0.1, -9.0, -9.5, -10.0], [EOS, 1, 2, 3], [0, 0, 0, 0])
    assert beam.is_done, "-9 / (55 / 6)^0.6 is worse than -0.1"
    beam = BeamSearch(DecodingOptions(50, beam_size=2, stop_rule=StopRule.BOUND), EOS)
    beam.advance([-0.1, -0.3, -9.5, -10.0], [EOS, 1, 2, 3], [0, 0, 0, 0])
    assert not beam.is_done, "-0.3 / (55 / 6)^0.6 is better than -0.1"


def test_the_likely_rule_compares_current_scores() -> None:
    beam = BeamSearch(DecodingOptions(50, beam_size=2, stop_rule=StopRule.LIKELY), EOS)
    beam.advance([-0.1, -0.05, -9.5, -10.0], [1, EOS, 2, 3], [0, 0, 0, 0])
    assert beam.is_done, "-0.1 is worse than -0.05, but could come to be better in the end"
    beam = BeamSearch(DecodingOptions(50, beam_size=2, stop_rule=StopRule.LIKELY), EOS)
    beam.advance([-0.05, -0.1, -9.5, -10.0], [1, EOS, 2, 3], [0, 0, 0, 0])
    assert not beam.is_done


def test_the_beaten_rule_waits_until_all_kept_hypotheses_beat_the_live_beams() -> None:
    for live, is_done in ((-0.9, False), (-1.6, True)):
        options = DecodingOptions(50, 2, length_penalty=1.0, length_norm=LengthNorm.POWER)
        beam = BeamSearch(replace(options, stop_rule=StopRule.BEATEN), EOS)
        beam.advance([-0.3, -0.4, -9.5, -10.0], [1, EOS, 2, 3], [0, 0, 0, 0])
        assert not beam.is_done, "only one has finished"
        beam.advance([-1.0, live, -9.6, -9.7], [EOS, 1, 2, 3], [0, 0, 0, 0])
        assert beam.is_done is is_done, f"{live} / 2 beside -0.4 / 1 and -1.0 / 2"


def test_runs_end_where_bans_or_forced_tokens_change() -> None:
    beam = BeamSearch(DecodingOptions(9, 1, min_decoding_length=3, target_prefix=(1,)), EOS)
    asked = []
    while not beam.is_done:
        asked.append((beam.steps_allowed, sorted(beam.bans()), beam.forced_token))
        for _ in range(beam.steps_allowed):
            beam.advance([-1.0, -2.0], [4, EOS], [0, 0])
    assert asked == [(1, [(0, EOS)], None), (2, [(0, EOS)], 1), (6, [], None)]


def test_with_the_narrow_rule_each_finished_hypothesis_removes_a_beam() -> None:
    options = DecodingOptions(9, 3, 3, length_penalty=0.0, stop_rule=StopRule.NARROW)
    beam = BeamSearch(options, EOS)
    beam.advance([-1.0, -2.0, -3.0, -4.0], [EOS, 1, 2, 3], [0, 0, 0, 0])  # goes on with 1 and 2
    beam.advance([-2.5, -2.6, -2.7, -2.8], [1, 2, EOS, EOS], [1, 0, 0, 1])  # too late to finish
    assert not beam.is_done
    beam.advance([-3.5, -3.6, -3.7, -3.8], [EOS, EOS, 1, 2], [0, 1, 0, 1])
    assert beam.is_done
    found = [(one.ids, one.score) for one in best(beam)]
    assert found == [((), -1.0), ((2, 1), -3.5), ((1, 2), -3.6)]

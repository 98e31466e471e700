"""Verification before a bundle is published: the service's engine against the reference search in torch.

fp32 must give the same n-best list for every sentence. In the lower precisions, rounding can reverse near
ties. They must give nearly the same scores where the translations are equal, and chrF of their translations
against the reference's must be high: a changed word costs little, a different sentence costs much.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import sacrebleu
import torch

from export.alignment import AlignmentHead
from model.data.corpus import Pair
from model.search import Found, SearchOptions, beam_search, max_target_length
from model.tokenizer import BOS_ID
from model.transformer import Transformer
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, Hypothesis, SpecialIds
from service.errors import EngineError
from service.models.bundle import Precision
from service.text.piece_tokenizer import BLANK

logger = logging.getLogger(__name__)

BEAM_SIZE = 4
LENGTH_PENALTY = 0.6
MAX_ELSEWHERE = 0.1
"""Limit on the mean share of a token's attention that the int8 scorer puts on other source tokens."""
MAX_NATS_APART = 0.1
"""Limit on the mean difference per token between the int8 scorer's log-probability and the reference's."""


class VerificationError(RuntimeError):
    """The graphs do not compute what the network computes; no bundle is published."""


@dataclass(frozen=True)
class Tolerance:
    """How far the results of a precision may be from the reference."""

    score: float
    """Maximum difference of the best hypotheses' scores where their tokens are equal: the mean difference,
    or the largest one if `exact`."""
    chrf: float
    """Minimum chrF, 0 to 100, of the best translations against the reference's."""
    exact: bool = False
    """Whether the whole n-best list of every sentence must be the same."""


TOLERANCES: dict[Precision, Tolerance] = {
    "fp32": Tolerance(score=1e-3, chrf=100, exact=True),
    "fp16": Tolerance(score=0.02, chrf=98),
    "int8": Tolerance(score=0.1, chrf=80),
}
"""Correct int8 graphs reach, with 40 sentences and without VNNI, a chrF of 97.4 (the bundled model), 95.6 to
98.3 (models of a toy language), 89.0 (random weights, for which nearly every step is a near tie). The bundled
model's fp16 graphs reach 100."""
TOLERANCES_WITHOUT_TEXT = TOLERANCES | {"int8": Tolerance(score=0.4, chrf=80)}
"""For sources drawn at random from a vocabulary. Their scores differ more than those of real text: by 0.1
(the bundled model) to 0.2 (the same in post-norm), though both translate text as well as in fp32."""

ADVICE = (
    "; this often happens after little training: train longer, calibrate with more text (--data), or leave "
    "{} out of --precisions"
)


def reference_translations(
    network: Transformer,
    sources: Sequence[Sequence[int]],
    suppressed: Sequence[int],
    start: Sequence[int],
) -> list[list[Found]]:
    """Return the reference search's n-best list of every source, without the `start` tokens.

    Args:
        network: the network in torch.
        sources: token ids.
        suppressed: tokens that get no probability.
        start: tokens that every translation must begin with.
    """
    n_best_lists = []
    for source in sources:
        limit = max_target_length(len(source))
        options = SearchOptions(BEAM_SIZE, limit, LENGTH_PENALTY, suppressed, prefix=start)
        n_best = beam_search(network, source, options)
        n_best_lists.append(
            [replace(hypothesis, ids=hypothesis.ids[len(start) :]) for hypothesis in n_best]
        )
    return n_best_lists


def engine_translations(
    encoder: Path,
    decoder: Path,
    special: SpecialIds,
    sources: Sequence[Sequence[int]],
    starts: Sequence[tuple[int, ...]],
) -> list[list[Hypothesis]]:
    """Return the engine's n-best list of every source; all sources are submitted together.

    `starts` are, for each source, the tokens that its translations must begin with.

    Raises:
        VerificationError: the engine cannot run the graphs, or their results are invalid.
    """
    engine = Engine(
        [OnnxModelRunner(encoder, decoder)], special, EngineConfig(max_waiting=max(1, len(sources)))
    )
    engine.start()
    try:
        sequences = engine.submit(
            [
                (
                    source,
                    DecodingOptions(
                        max_decoding_length=max_target_length(len(source)),
                        beam_size=BEAM_SIZE,
                        num_hypotheses=BEAM_SIZE,
                        length_penalty=LENGTH_PENALTY,
                        start_tokens=start,
                    ),
                )
                for source, start in zip(sources, starts, strict=True)
            ]
        )
        return [sequence.future.result() for sequence in sequences]
    except EngineError as error:
        names = f"{encoder.name} and {decoder.name}"
        raise VerificationError(f"{names} cannot be run: {error}") from error
    finally:
        engine.close()


def verify(
    precision: Precision,
    reference: Sequence[Sequence[Found]],
    found: Sequence[Sequence[Hypothesis]],
    piece: Callable[[int], str],
    has_text: bool = True,
) -> str:
    """Compare the engine's translations with the reference's; return one line that says how well they agree.

    `piece` returns the piece of a target token's id. `has_text` is False for sources drawn at random from a
    vocabulary.

    Raises:
        VerificationError: they differ by more than the precision's tolerance.
    """

    def text(ids: Sequence[int]) -> str:
        return "".join(map(piece, ids)).replace(BLANK, " ")

    tolerance = (TOLERANCES if has_text else TOLERANCES_WITHOUT_TEXT)[precision]
    num_equal, differences = 0, []
    for expected, actual in zip(reference, found, strict=True):
        count = len(actual) if tolerance.exact else 1
        ids = [hypothesis.ids for hypothesis in actual[:count]]
        if ids == [hypothesis.ids for hypothesis in expected[:count]]:
            num_equal += 1
            differences.append(abs(expected[0].score - actual[0].score))
    texts = [text(n_best[0].ids) for n_best in found]
    expected_texts = [text(n_best[0].ids) for n_best in reference]
    chrf = 100.0  # an untrained network's translations may be empty, whose chrF is undefined
    if texts != expected_texts:
        chrf = sacrebleu.corpus_chrf(texts, [expected_texts]).score
    worst = max(differences, default=float("inf"))
    mean = sum(differences) / len(differences) if differences else float("inf")
    line = (
        f"{precision}: {num_equal} of {len(reference)} translations equal the reference's, chrF against it "
        f"{chrf:.1f}, scores differ by {mean:.2g} on average, {worst:.2g} at most"
    )
    if tolerance.exact:
        missed = "all must be equal" if num_equal < len(reference) else ""
        limit, difference = "the limit", worst
    else:
        missed = f"the least chrF is {tolerance.chrf:g}" if chrf < tolerance.chrf else ""
        limit, difference = "the limit on average", mean
    if not missed and not difference <= tolerance.score:
        missed = f"{limit} is {tolerance.score}"
    if missed:
        advice = "" if tolerance.exact else ADVICE.format(precision)
        raise VerificationError(f"{line}; {missed}{advice}")
    return line


@dataclass(frozen=True)
class ScoredPair:
    """A source and its translation, with the network's attention and score."""

    source: list[int]
    target: list[int]
    """BOS, the translation, EOS."""
    attention: np.ndarray
    """The mean of the chosen heads, [T, S]."""
    log_prob: float
    """Log-probability of the translation and its EOS, in nats."""


@torch.inference_mode()
def scored_pairs(
    network: Transformer, heads: Sequence[AlignmentHead], pairs: Sequence[Pair]
) -> list[ScoredPair]:
    """Compute, with the network in torch, the results that a scorer is compared with."""
    scored = []
    for pair in pairs:
        source = torch.tensor([pair.source.tolist()])
        target = torch.tensor([[BOS_ID, *pair.target.tolist()]])
        decoder_input, rows = target[:, :-1], target.shape[1] - 2
        maps = network.attention_maps(source, decoder_input)
        log_probs = network(source, decoder_input).log_softmax(-1)[0]
        attention = np.mean(
            [
                maps[f"decoder.{layer}.cross"][0, head, shift : shift + rows].numpy()
                for layer, head, shift in heads
            ],
            axis=0,
        )
        total = float(log_probs.gather(1, target[0, 1:, None]).sum())
        scored.append(ScoredPair(source[0].tolist(), target[0].tolist(), attention, total))
    return scored


def verify_scorer(expected: Sequence[ScoredPair], runner: OnnxModelRunner) -> str:
    """Compare a scorer's results with the network's; return one line that says how well they agree.

    Raises:
        VerificationError: the mean difference of the log-probabilities per token exceeds `MAX_NATS_APART`,
            or the mean share of a token's attention on other source tokens exceeds `MAX_ELSEWHERE`.
    """
    elsewhere: list[float] = []
    differences = []
    for pair in expected:
        attention = runner.align(pair.source, pair.target)
        elsewhere += (np.abs(attention - pair.attention).sum(axis=1) / 2).tolist()
        bias = np.zeros((1, len(pair.source)), np.float32)
        [score] = runner.score(np.array([pair.source]), bias, np.array([pair.target])).tolist()
        differences.append(abs(score - pair.log_prob) / (len(pair.target) - 1))
    # `elsewhere` is empty if all translations are, as those of random sources may be
    nats, share = sum(differences) / len(differences), sum(elsewhere) / max(1, len(elsewhere))
    line = f"scorer: {nats:.2g} nats per token from the reference, {share:.1%} of the attention elsewhere"
    if not (nats <= MAX_NATS_APART and share <= MAX_ELSEWHERE):
        raise VerificationError(f"{line}; the limits are {MAX_NATS_APART} and {MAX_ELSEWHERE:.0%}")
    return line

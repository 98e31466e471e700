"""The scorer's graph, compared with the network's own log-probabilities and attention."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from export.alignment import AlignmentHead
from export.graph import GraphBuilder
from export.scorer import build_scorer
from export.verify import VerificationError, scored_pairs, verify_scorer
from model.checkpoint import Checkpoint
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.rerank import MARGIN
from service.engine.runner import OnnxModelRunner
from service.engine.types import MASKED, DecodingOptions, Floats, Hypothesis, SpecialIds
from service.errors import StepFailedError
from tests import toy
from tests.conftest import TINY_BUNDLE

ENCODER, DECODER = TINY_BUNDLE / "encoder.fp32.onnx", TINY_BUNDLE / "decoder.fp32.onnx"
HEADS = [AlignmentHead(0, 0, 0)]


@pytest.fixture
def network(checkpoint: Checkpoint) -> Transformer:
    return checkpoint.network()


@pytest.fixture
def pairs(checkpoint: Checkpoint) -> list[Pair]:
    tokenizer, found = checkpoint.vocabularies.source, []
    for german, english in toy.sentences()[::7]:
        source = [tokenizer.tag_id("en"), *tokenizer.encode([german])[0], EOS_ID]
        target = [*tokenizer.encode([english])[0], EOS_ID]
        found.append(Pair(np.array(source), np.array(target)))
    return found


def runner_with(network: Transformer, heads: list[AlignmentHead], folder: Path) -> OnnxModelRunner:
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    graph = build_scorer(GraphBuilder("fp32", weights), network.config, heads)
    onnx.save(graph, folder / "scorer.onnx")
    return OnnxModelRunner(ENCODER, DECODER, scorer=folder / "scorer.onnx")


def log_prob(network: Transformer, source: list[int], target: list[int]) -> float:
    """Return the log-probability of a target and its EOS, in nats."""
    with torch.no_grad():
        logits = network(torch.tensor([source]), torch.tensor([[BOS_ID, *target[:-1]]]))
    return float(logits.log_softmax(-1)[0].gather(1, torch.tensor(target)[:, None]).sum())


def searched(
    runner: OnnxModelRunner,
    sources: list[list[int]],
    options: DecodingOptions,
    num_workers: int = 1,
) -> list[list[Hypothesis]]:
    engine = Engine(
        [runner], SpecialIds(PAD_ID, BOS_ID, EOS_ID), EngineConfig(num_workers=num_workers)
    )
    engine.start()
    try:
        sequences = engine.submit([(source, options) for source in sources])
        return [sequence.future.result(60) for sequence in sequences]
    finally:
        engine.close()


def reversed_sources(pairs: list[Pair]) -> list[list[int]]:
    """Return meaningless sources, which have several translations with similar scores."""
    return [[int(pair.source[0]), *pair.source[-2:0:-1].tolist(), EOS_ID] for pair in pairs]


def padded(rows: list[list[int]]) -> np.ndarray:
    width = max(map(len, rows))
    return np.array([row + [PAD_ID] * (width - len(row)) for row in rows])


@pytest.mark.parametrize(
    "heads",
    [
        [AlignmentHead(0, 0, 0)],
        [AlignmentHead(0, 1, 1)],
        [AlignmentHead(0, 0, 1), AlignmentHead(0, 1, 0)],
    ],
)
def test_alignments_are_the_mean_of_the_chosen_heads(
    network: Transformer, pairs: list[Pair], tmp_path: Path, heads: list[AlignmentHead]
) -> None:
    runner = runner_with(network, heads, tmp_path)
    for pair in pairs:
        source, target = pair.source.tolist(), [BOS_ID, *pair.target.tolist()]
        with torch.no_grad():
            maps = network.attention_maps(torch.tensor([source]), torch.tensor([target[:-1]]))
        rows = len(target) - 2
        expected = sum(
            maps[f"decoder.{layer}.cross"][0, head, shift : shift + rows].numpy()
            for layer, head, shift in heads
        )
        found = runner.align(source, target)
        assert found.shape == (rows, len(source))
        np.testing.assert_allclose(found, expected / len(heads), atol=1e-5)


def test_scores_of_a_padded_batch_are_the_log_probabilities_of_the_network(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    runner = runner_with(network, HEADS, tmp_path)
    expected = [log_prob(network, pair.source.tolist(), pair.target.tolist()) for pair in pairs]
    sources = padded([pair.source.tolist() for pair in pairs])
    targets = padded([[BOS_ID, *pair.target.tolist()] for pair in pairs])
    assert (sources == PAD_ID).any()
    assert (targets == PAD_ID).any()
    bias = np.where(sources == PAD_ID, MASKED, 0).astype(np.float32)
    np.testing.assert_allclose(runner.score(sources, bias, targets), expected, atol=1e-4)


def test_scores_include_the_projection_bias(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    biased = Transformer(replace(network.config, projection_bias=True), PAD_ID).eval()
    bias = torch.linspace(-2, 2, network.config.vocab_size)
    biased.load_state_dict({**network.state_dict(), "projection_bias": bias})
    runner = runner_with(biased, HEADS, tmp_path)
    for pair in pairs[:5]:
        source, target = pair.source.tolist(), pair.target.tolist()
        mask = np.zeros((1, len(source)), np.float32)
        [found] = runner.score(np.array([source]), mask, np.array([[BOS_ID, *target]]))
        assert found == pytest.approx(log_prob(biased, source, target), abs=1e-3)


def test_scores_of_a_recurrent_decoder_are_those_of_the_network(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    recurrent = Transformer(replace(network.config, decoder_cell="ssru"), PAD_ID).eval()
    recurrent.load_state_dict(network.state_dict(), strict=False)
    runner = runner_with(recurrent, HEADS, tmp_path)
    expected = [log_prob(recurrent, pair.source.tolist(), pair.target.tolist()) for pair in pairs]
    sources = padded([pair.source.tolist() for pair in pairs])
    targets = padded([[BOS_ID, *pair.target.tolist()] for pair in pairs])
    bias = np.where(sources == PAD_ID, MASKED, 0).astype(np.float32)
    np.testing.assert_allclose(runner.score(sources, bias, targets), expected, atol=1e-3)


def test_the_scorer_reads_encoders_of_every_precision(pairs: list[Pair]) -> None:
    """The scorer is in int8 and reads fp16; the fp32 graphs have their keys and values in fp32."""
    runners = [
        OnnxModelRunner(
            TINY_BUNDLE / f"encoder.{precision}.onnx",
            TINY_BUNDLE / f"decoder.{precision}.onnx",
            scorer=TINY_BUNDLE / "scorer.int8.onnx",
        )
        for precision in ("fp32", "int8")
    ]
    for pair in pairs[:5]:
        source, target = pair.source.tolist(), [BOS_ID, *pair.target.tolist()]
        fine, coarse = (runner.align(source, target) for runner in runners)
        assert np.abs(fine - coarse).sum(axis=1).mean() / 2 < 0.05


def test_one_target_is_scored_against_all_sources(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    runner, target = runner_with(network, HEADS, tmp_path), pairs[0].target.tolist()
    expected = [log_prob(network, pair.source.tolist(), target) for pair in pairs]
    sources = padded([pair.source.tolist() for pair in pairs])
    bias = np.where(sources == PAD_ID, MASKED, 0).astype(np.float32)
    found = runner.score(sources, bias, np.array([[BOS_ID, *target]]))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_reranking_sorts_by_the_log_probabilities_of_both_directions(
    checkpoint: Checkpoint, network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    runner, back = (
        runner_with(network, HEADS, tmp_path),
        checkpoint.vocabularies.source.tag_id("de"),
    )
    # shuffled, so that no translation is certain
    rng = np.random.default_rng(3)
    sources = [
        [int(pair.source[0]), *rng.permutation(pair.source[1:-1]).tolist(), EOS_ID]
        for pair in pairs
    ]
    plain = DecodingOptions(40, num_hypotheses=4)
    moved = 0
    asking = replace(plain, channel_tag=back, channel_weight=0.5)
    before, after = (searched(runner, sources, options) for options in (plain, asking))
    for source, found, ranked in zip(sources, before, after, strict=True):

        def by_both(one: Hypothesis, source: list[int] = source) -> float:
            penalty: float = ((5 + len(one.ids) + 1) / 6) ** 0.6
            return (
                one.score + 0.5 * log_prob(network, [back, *one.ids, EOS_ID], source[1:]) / penalty
            )

        near = [one for one in found if one.score >= found[0].score - MARGIN]
        expected = sorted(near, key=by_both, reverse=True) + found[len(near) :]
        assert [one.ids for one in ranked] == [one.ids for one in expected]
        moved += ranked[0].ids != found[0].ids
    assert moved > 2


def test_a_single_sentence_is_scored_on_reranker_threads_with_the_same_result(
    checkpoint: Checkpoint, network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    threads: list[str] = []

    class RecordingRunner(OnnxModelRunner):
        def score(self, *arrays: Any) -> Floats:
            threads.append(threading.current_thread().name.partition("_")[0])
            return super().score(*arrays)

    runner_with(network, HEADS, tmp_path)
    runner = RecordingRunner(ENCODER, DECODER, scorer=tmp_path / "scorer.onnx")
    sources = reversed_sources(pairs[:8])
    asking = DecodingOptions(
        40, num_hypotheses=4, channel_tag=checkpoint.vocabularies.source.tag_id("de")
    )
    alone = [searched(runner, [source], asking, num_workers=2)[0] for source in sources]
    assert set(threads) == {"reranker"}
    threads.clear()
    together = searched(runner, sources, asking)
    assert "engine-0" in threads
    for found, expected in zip(alone, together, strict=True):
        assert [one.ids for one in found] == [one.ids for one in expected]


def test_a_failing_scorer_fails_the_sentences_to_be_reranked(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    class FailingRunner(OnnxModelRunner):
        def score(self, *_: object) -> Floats:
            raise RuntimeError("no scores today")

    runner_with(network, HEADS, tmp_path)
    runner = FailingRunner(ENCODER, DECODER, scorer=tmp_path / "scorer.onnx")
    sources = reversed_sources(pairs[:8])
    assert searched(runner, sources, DecodingOptions(40))
    asking, failed = DecodingOptions(40, channel_tag=int(pairs[0].source[0])), []
    for source in sources:  # each in its own engine: several failures in a row would stop it
        try:
            searched(runner, [source], asking)
        except StepFailedError as error:
            failed.append(str(error))
    assert failed, "no sentence has several translations to choose from"
    assert all("log says why" in message for message in failed)


def test_a_scorer_that_disagrees_with_the_network_fails_verification(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    runner = runner_with(network, HEADS, tmp_path)
    assert verify_scorer(scored_pairs(network, HEADS, pairs), runner)
    with pytest.raises(VerificationError, match="elsewhere"):
        verify_scorer(scored_pairs(network, [AlignmentHead(0, 1, 1)], pairs), runner)
    with torch.no_grad():
        network.embedding.weight[:, 0] += 1.0
    with pytest.raises(VerificationError, match="nats per token"):
        verify_scorer(scored_pairs(network, HEADS, pairs), runner)


def test_an_empty_translation_has_no_attention_to_compare(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    runner = runner_with(network, HEADS, tmp_path)
    empty = Pair(pairs[0].source, np.array([EOS_ID], np.int32))
    for every in ([empty], [*pairs, empty]):
        line = verify_scorer(scored_pairs(network, HEADS, every), runner)
        assert line.endswith(", 0.0% of the attention elsewhere")


def test_aligning_without_a_scorer_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="without a scorer"):
        OnnxModelRunner(ENCODER, DECODER).align([5, EOS_ID], [BOS_ID, 6, EOS_ID])

"""The aligner's graph against the network's own attention."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from export.aligner import AlignmentHead, build_aligner, choose_heads
from export.graph import GraphBuilder
from export.verify import VerificationError, verify_aligner
from model.checkpoint import Checkpoint
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer
from service.engine.runner import OnnxModelRunner
from tests import toy
from tests.conftest import TINY_BUNDLE

ENCODER, DECODER = TINY_BUNDLE / "encoder.fp32.onnx", TINY_BUNDLE / "decoder.fp32.onnx"


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
    graph = build_aligner(GraphBuilder("fp32", weights), network.config, heads)
    onnx.save(graph, folder / "aligner.onnx")
    return OnnxModelRunner(ENCODER, DECODER, aligner=folder / "aligner.onnx")


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
        source, target = pair.source.tolist(), [BOS_ID, *pair.target[:-1].tolist()]
        with torch.no_grad():
            maps = network.attention_maps(torch.tensor([source]), torch.tensor([target]))
        rows = len(target) - 1
        expected = sum(
            maps[f"decoder.{layer}.cross"][0, head, shift : shift + rows].numpy()
            for layer, head, shift in heads
        )
        found = runner.align(source, target)
        assert found.shape == (rows, len(source))
        np.testing.assert_allclose(found, expected / len(heads), atol=1e-5)


def test_another_networks_aligner_is_not_published(
    network: Transformer, pairs: list[Pair], tmp_path: Path
) -> None:
    heads = [AlignmentHead(0, 0, 0)]
    runner = runner_with(network, heads, tmp_path)
    assert verify_aligner(network, heads, runner, pairs)
    with pytest.raises(VerificationError, match="elsewhere"):
        verify_aligner(network, [AlignmentHead(0, 1, 1)], runner, pairs)


def test_the_chosen_heads_align_at_least_as_well_as_any_alone(
    checkpoint: Checkpoint, network: Transformer, pairs: list[Pair]
) -> None:
    chosen, share = choose_heads(network, pairs, checkpoint.vocabularies)
    assert 1 <= len(chosen) <= 4
    assert 0 < share <= 1

"""The models of `python -m tests.bench.imported`: that they are what they are called, and that they end."""

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from export.importers import marian_npz
from export.importers.conversion import network_of
from model.search import greedy_search
from model.tokenizer import BOS_ID, PAD_ID
from model.transformer import Transformer
from tests.bench.ending import MEAN_LENGTH, ending_network, random_sources
from tests.bench.imported_models import STUDENT, write_student_files

SIZES = replace(STUDENT, vocab_size=302, d_model=32, d_ff=64, num_encoder_layers=1, num_heads=2)
SOURCES = random_sources(8, SIZES.vocab_size)


@pytest.fixture(scope="module")
def network() -> Transformer:
    return ending_network(SIZES, SOURCES)


@torch.inference_mode()
def test_a_student_can_be_read_from_marian_files(network: Transformer, tmp_path: Path) -> None:
    write_student_files(tmp_path, network)
    source, target = torch.tensor(SOURCES[:1]), torch.tensor([[BOS_ID, 9, 200, 7, 301]])
    expected = network(source, target)
    found = network_of(marian_npz.read(tmp_path))(source, target).log_softmax(-1)
    # Marian has no padding or BOS, so the other tokens share their probability
    expected[..., [PAD_ID, BOS_ID]] = -torch.inf
    assert torch.allclose(found, expected.log_softmax(-1), atol=1e-4)


def test_translations_of_random_weights_have_realistic_lengths(network: Transformer) -> None:
    lengths = [
        len(greedy_search(network, torch.tensor([source]), (PAD_ID, BOS_ID))[0])
        for source in SOURCES
    ]
    assert abs(statistics.mean(lengths) - MEAN_LENGTH) < 8
    assert len(set(lengths)) > 3

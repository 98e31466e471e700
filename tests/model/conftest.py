"""A corpus, a configuration and a network small enough for tests."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model.config import Config, ModelConfig
from model.transformer import Transformer
from tests import toy
from tests.make_tiny_bundle import CONFIG

torch.set_num_threads(1)  # more threads slow such small networks down


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    """A folder with 200 training pairs and 6 validation pairs of the toy language."""
    toy.write_corpus(tmp_path / "data", train=200, valid=6)
    return tmp_path / "data"


@pytest.fixture
def config() -> Config:
    """A configuration of twelve short steps, with dropout, so that random states matter."""
    training = replace(
        CONFIG.training,
        batch_tokens=300,
        max_steps=12,
        warmup_steps=4,
        log_every=1,
        validate_every=6,
        bleu_sentences=3,
        checkpoint_every=4,
        keep_checkpoints=3,
        precision="fp32",  # a measured choice may differ between the runs that are compared
    )
    return replace(CONFIG, model=replace(CONFIG.model, dropout=0.2), training=training)


@pytest.fixture
def network() -> Transformer:
    """A network with random weights, two layers per side and a vocabulary of 11 tokens."""
    torch.manual_seed(3)
    sizes = ModelConfig(
        vocab_size=11,
        d_model=16,
        d_ff=32,
        num_heads=2,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dropout=0.1,
        max_positions=64,
    )
    return Transformer(sizes, pad_id=0).eval()

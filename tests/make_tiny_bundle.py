"""`python -m tests.make_tiny_bundle`: make tests/data/tiny_bundle, for tests without torch.

After a minute of training on the toy language, translations end like real ones. Random weights would repeat
one token and hide errors of beam search.
"""

import tempfile
from pathlib import Path

import torch

from export.bundle_writer import write_bundle
from export.material import ExportOptions
from model.checkpoint import list_checkpoints, load
from model.config import Config, DataConfig, ModelConfig, TrainingConfig
from model.data.text import read_aligned
from model.train import train
from tests import toy

TINY_BUNDLE = Path(__file__).parent / "data" / "tiny_bundle"
CONFIG = Config(
    ModelConfig(
        vocab_size=72,
        d_model=32,
        d_ff=64,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=0.0,
        max_positions=128,
    ),
    DataConfig(
        directions=("de-en", "en-de"),
        normalization="identity",
        byte_fallback=False,
        character_coverage=1.0,
        max_tokens=64,
    ),
    TrainingConfig(
        batch_tokens=1024,
        max_steps=900,
        warmup_steps=100,
        learning_rate_factor=0.5,
        precision="fp32",
        validate_every=300,
        checkpoint_every=900,
        log_every=100,
    ),
)


def main() -> None:
    """Train a network and replace the bundle with its export."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        data, run = Path(name) / "data", Path(name) / "run"
        toy.write_corpus(data, train=500, valid=40)
        train(CONFIG, data, run)
        write_bundle(
            load(list_checkpoints(run)[-1]),
            read_aligned(data, "valid", ("de", "en")),
            TINY_BUNDLE,
            ExportOptions("tiny", precisions=("fp32", "int8"), licences=("made for the tests",)),
        )


if __name__ == "__main__":
    main()

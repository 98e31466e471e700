"""Networks that differ from the paper's go the whole way: trained, exported with proof, read back, served."""

import asyncio
from dataclasses import replace
from pathlib import Path

import torch

from export.bundle_writer import write_bundle
from export.material import ExportOptions
from model import bundle as training_bundle
from model.checkpoint import Checkpoint, load_run
from model.data.text import read_aligned
from model.evaluate import greedy_translate, suppressed_ids
from model.train import train
from service.models.bundle import load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.translation.options import TranslationOptions
from tests import toy
from tests.make_tiny_bundle import CONFIG

SENTENCES = [german for german, _ in toy.sentences()[::20]]


def trained(folder: Path) -> Checkpoint:
    """Pre-norm, GELU, a vocabulary and a table for each side, and a projection of its own."""
    config = replace(
        CONFIG,
        model=replace(
            CONFIG.model, vocab_size=42, norm="pre", activation="gelu", embeddings="separate"
        ),
        data=replace(CONFIG.data, directions=("de-en",), vocabulary="separate"),
        training=replace(CONFIG.training, max_steps=250, validate_every=250, checkpoint_every=250),
    )
    toy.write_corpus(folder / "data", train=500, valid=40)
    train(config, folder / "data", folder / "run")
    return load_run(folder / "run", 1)


def test_another_network_is_trained_exported_read_back_and_served(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    checkpoint = trained(tmp_path)
    assert not checkpoint.vocabularies.is_joint
    text = read_aligned(tmp_path / "data", "valid", ("de", "en"))
    write_bundle(checkpoint, text, tmp_path / "bundle", ExportOptions("x", precisions=("fp32",)))

    again = training_bundle.load(tmp_path / "bundle")
    assert (again.config, again.vocabularies) == (checkpoint.config, checkpoint.vocabularies)
    assert again.weights.keys() == checkpoint.weights.keys()
    for name, tensor in checkpoint.weights.items():
        torch.testing.assert_close(again.weights[name], tensor, msg=name)

    chosen = ModelOptions(precision="fp32", device="cpu")
    models = ModelSet([start_model(load(tmp_path / "bundle"), chosen)], 10_000)
    try:
        options = replace(TranslationOptions(), beam_size=1, align=True)
        work = models.translate(SENTENCES, "de", "en", options, timeout=60)
        found = asyncio.run(work)
    finally:
        models.close()
    vocabularies, network = checkpoint.vocabularies, checkpoint.network()
    suppressed = suppressed_ids(vocabularies, checkpoint.config)
    expected = greedy_translate(network, vocabularies, SENTENCES, "en", suppressed)
    assert [one.text for one in found] == expected
    assert len(set(expected)) > len(SENTENCES) / 2, "it has learnt something"

"""A network with added layers computes the same as before, and trains all its layers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from model import bundle, checkpoint
from model.checkpoint import Checkpoint
from model.config import Config, ConfigError
from model.grow import grown
from model.train import main, train
from model.transformer import Transformer

ATTENTION = "encoder.{}.self_attention.w_q.weight"


@pytest.fixture
def trained(tiny_bundle: Path, config: Config) -> Checkpoint:
    """A pre-norm network with random weights and biases, two encoder layers and one decoder layer."""
    torch.manual_seed(5)
    sizes = replace(config.model, norm="pre", num_encoder_layers=2)
    network = Transformer(sizes, pad_id=0)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    vocabularies = bundle.load(tiny_bundle).vocabularies
    return Checkpoint(replace(config, model=sizes), vocabularies, network.state_dict(), step=1)


def with_model(one: Checkpoint, **changes: Any) -> Checkpoint:
    config = replace(one.config, model=replace(one.config.model, **changes))
    return replace(one, config=config)


@pytest.mark.parametrize("cell", ["attention", "ssru"])
def test_a_grown_network_computes_exactly_what_the_original_does(
    trained: Checkpoint, cell: str
) -> None:
    wanted = replace(trained.config.model, num_encoder_layers=5, num_decoder_layers=3)
    if cell == "ssru":
        wanted = replace(wanted, decoder_cell="ssru", num_decoder_layers=1)
        network = Transformer(replace(trained.config.model, decoder_cell="ssru"), pad_id=0)
        trained = replace(with_model(trained, decoder_cell=cell), weights=network.state_dict())
    deeper = grown(trained, wanted)
    assert deeper.config.model == wanted
    source, target = torch.randint(1, 72, (4, 9)), torch.randint(1, 72, (4, 7))
    source[0, 6:] = 0
    assert torch.equal(deeper.network()(source, target), trained.network()(source, target))


@pytest.mark.parametrize(("count", "origins"), [(3, [0, 0, 1]), (4, [0, 0, 1, 1]), (2, [0, 1])])
def test_new_layers_are_copies_spread_evenly_between_the_old_ones(
    trained: Checkpoint, count: int, origins: list[int]
) -> None:
    deeper = grown(trained, replace(trained.config.model, num_encoder_layers=count))
    for layer, origin in enumerate(origins):
        assert deeper.weights[ATTENTION.format(layer)].equal(
            trained.weights[ATTENTION.format(origin)]
        )
    assert ATTENTION.format(count) not in deeper.weights


@pytest.mark.parametrize(
    ("bundle_has", "wanted", "message"),
    [
        ({}, {"d_model": 64}, "the bundle has d_model = 32, but model.d_model = 64"),
        ({}, {"d_ff": 65}, "the bundle has d_ff = 64, but model.d_ff = 65"),
        ({}, {"num_heads": 4}, "the bundle has num_heads = 2, but model.num_heads = 4"),
        (
            {},
            {"num_encoder_layers": 1},
            "the bundle has num_encoder_layers = 2, more than model.num_encoder_layers = 1",
        ),
        (
            {"norm": "post"},
            {},
            "the bundle has norm = 'post', but layers can only be added with norm = 'pre'",
        ),
        (
            {"decoder_cell": "ssru"},
            {"num_decoder_layers": 2},
            "decoder_cell = 'ssru', .* set model.num_decoder_layers = 1 instead of 2",
        ),
    ],
)
def test_other_changes_of_size_are_errors_that_name_both_values(
    trained: Checkpoint, bundle_has: dict[str, Any], wanted: dict[str, Any], message: str
) -> None:
    sizes = replace(trained.config.model, **wanted)
    with pytest.raises(ConfigError, match=f"--grow: .*{message}"):
        grown(with_model(trained, **bundle_has), sizes)


def test_every_layer_of_a_grown_network_learns(
    trained: Checkpoint,
    corpus_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("model.bundle.load", lambda _: trained)
    sizes = replace(trained.config.model, num_encoder_layers=3, num_decoder_layers=2)
    steps = replace(trained.config.training, max_steps=2, optimizer="muon", bleu_sentences=1)
    config = replace(trained.config, model=sizes, training=steps)
    train(config, corpus_folder, tmp_path / "run", init_bundle=Path("any"), grow=True)
    found = checkpoint.load_run(tmp_path / "run", 1)
    assert found.config.model == sizes
    before = grown(trained, sizes).weights
    for name, weights in found.weights.items():
        assert weights.isfinite().all(), name
        assert not weights.equal(before[name]) or name.endswith("w_k.bias"), name


def test_grow_without_init_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tiny", "--data", "x", "--out", "y", "--grow"])
    assert "--grow needs --init" in capsys.readouterr().err

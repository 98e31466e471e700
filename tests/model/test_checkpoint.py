"""Checkpoints are complete or absent, and an average is the mean."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint, CheckpointError
from model.config import Config
from model.tokenizer import Tokenizer, Vocabularies, train_tokenizer
from model.transformer import Transformer
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.make_tiny_bundle import CONFIG


@pytest.fixture
def saved(config: Config, tmp_path: Path) -> tuple[Path, list[Checkpoint]]:
    """A run of four checkpoints, of which the last three are kept."""
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    written = []
    for step in (10, 20, 30, 40):
        torch.manual_seed(step)
        weights = Transformer(config.model, 0).state_dict()
        vocabularies = Vocabularies(tokenizer, tokenizer)
        written.append(Checkpoint(config, vocabularies, weights, step))
        checkpoints.save(tmp_path, written[-1], {"place": step}, keep=3)
    return tmp_path, written


def test_a_saved_checkpoint_is_loaded_unchanged(saved: tuple[Path, list[Checkpoint]]) -> None:
    run, written = saved
    folders = checkpoints.list_checkpoints(run)
    assert [folder.name for folder in folders] == ["step_0000020", "step_0000030", "step_0000040"]
    loaded = checkpoints.load(folders[-1])
    assert (loaded.step, loaded.config, loaded.vocabularies) == (
        40,
        written[3].config,
        written[3].vocabularies,
    )
    for name, tensor in written[3].weights.items():
        assert loaded.weights[name].equal(tensor)
    assert checkpoints.load_training_state(folders[-1]) == {"place": 40}


def test_a_partly_written_checkpoint_is_ignored(
    saved: tuple[Path, list[Checkpoint]],
) -> None:
    run, _ = saved
    partial = run / ".step_0000050.partial"
    partial.mkdir()
    (partial / "weights.pt").write_bytes(b"half")
    assert checkpoints.list_checkpoints(run)[-1].name == "step_0000040"
    assert checkpoints.load_run(run, 1).step == 40


def test_loading_a_run_averages_its_last_checkpoints(saved: tuple[Path, list[Checkpoint]]) -> None:
    run, written = saved
    mean = checkpoints.load_run(run, 2)
    assert mean.step == 40
    for name, tensor in mean.weights.items():
        expected = (written[2].weights[name] + written[3].weights[name]) / 2
        torch.testing.assert_close(tensor, expected)


def test_only_runs_with_equal_networks_and_vocabularies_can_be_averaged(
    saved: tuple[Path, list[Checkpoint]],
) -> None:
    _, [first, second, *_] = saved
    mean = checkpoints.average([first, second, second])
    for name, tensor in mean.weights.items():
        torch.testing.assert_close(tensor, first.weights[name] / 3 + second.weights[name] * 2 / 3)
    with_dropout = replace(first.config, model=replace(first.config.model, dropout=0.3))
    assert checkpoints.average([replace(first, config=with_dropout), second]).step == 20
    deeper = replace(first.config, model=replace(first.config.model, num_decoder_layers=5))
    with pytest.raises(CheckpointError, match="num_decoder_layers=5"):
        checkpoints.average([replace(first, config=deeper), second])
    text = [side.swapcase() for pair in toy.sentences() for side in pair]
    swapped = Tokenizer(train_tokenizer(CONFIG, text, "toy"))
    other = replace(first, vocabularies=Vocabularies(swapped, swapped))
    with pytest.raises(CheckpointError, match="different vocabularies"):
        checkpoints.average([other, second])


def test_a_loaded_network_is_in_evaluation_mode(saved: tuple[Path, list[Checkpoint]]) -> None:
    run, _ = saved
    network = checkpoints.load_run(run, 1).network()
    assert not network.training
    assert network.config == replace(CONFIG.model, dropout=0.2)


def test_a_damaged_checkpoint_is_an_error_that_names_it(
    saved: tuple[Path, list[Checkpoint]], tmp_path: Path
) -> None:
    run, _ = saved
    (run / "step_0000040" / "weights.pt").write_bytes(b"not torch's")
    with pytest.raises(CheckpointError, match="step_0000040: damaged checkpoint"):
        checkpoints.load_run(run, 1)
    (run / "step_0000030" / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        checkpoints.load(run / "step_0000030")
    with pytest.raises(CheckpointError, match="neither a checkpoint nor a run"):
        checkpoints.load_run(tmp_path / "nothing", 1)

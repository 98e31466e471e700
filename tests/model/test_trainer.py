"""Training is the same whether or not it is interrupted, and reports errors in its input."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from model import bundle, checkpoint, precision
from model.config import Config, ConfigError
from model.data.batches import Batcher
from model.data.corpus import Corpus
from model.distributed import Processes
from model.train import main, train
from tests.waiting import wait_until


def losses(run: Path) -> dict[tuple[str, int], Any]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {(line["kind"], line["step"]): (line["loss"], line.get("bleu")) for line in lines}


@pytest.fixture
def uninterrupted(config: Config, corpus_folder: Path, tmp_path: Path) -> Path:
    run = tmp_path / "whole"
    train(config, corpus_folder, run)
    return run


@pytest.mark.parametrize("stop_at", [1, 4, 7, 11])
def test_a_resumed_run_has_the_losses_and_weights_of_an_uninterrupted_one(
    config: Config, corpus_folder: Path, tmp_path: Path, uninterrupted: Path, stop_at: int
) -> None:
    run = tmp_path / "halves"
    short = replace(config, training=replace(config.training, max_steps=stop_at))
    train(short, corpus_folder, run)
    train(config, corpus_folder, run)
    expected = losses(uninterrupted)
    assert len(expected) == 12 + 2
    found = losses(run)
    del found["validation", stop_at]  # the last step of the first half is validated too
    assert found == expected
    whole, halves = (checkpoint.load_run(folder, 1) for folder in (uninterrupted, run))
    assert halves.step == whole.step == 12
    for name, tensor in whole.weights.items():
        assert halves.weights[name].equal(tensor), name


def test_accumulated_batches_have_the_loss_of_one_large_batch(
    config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    """The sum over two batches of an epoch gives the same update as both in one batch."""
    plain = replace(config, model=replace(config.model, dropout=0.0))
    whole_epoch = replace(
        plain.training, batch_tokens=100_000, max_steps=2, validate_every=9, log_every=1
    )
    train(replace(plain, training=whole_epoch), corpus_folder, tmp_path / "one")
    vocabularies = checkpoint.load_run(tmp_path / "one", 1).vocabularies
    corpus = Corpus.open(corpus_folder, config.data, vocabularies, tmp_path / "tokens")
    count = len(Batcher(corpus, 1000, config.training.seed).epoch(0))
    assert count > 3
    accumulated = replace(whole_epoch, batch_tokens=1000, accumulate_batches=count)
    train(replace(plain, training=accumulated), corpus_folder, tmp_path / "many")
    one, many = (losses(tmp_path / name) for name in ("one", "many"))
    assert many["train", 1][0] == pytest.approx(one["train", 1][0], rel=1e-5)
    assert many["train", 2][0] == pytest.approx(one["train", 2][0], rel=1e-4), "after one update"
    assert one["train", 2][0] != pytest.approx(one["train", 1][0], rel=1e-3)


def test_a_resumed_run_keeps_its_precision(
    config: Config,
    corpus_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    for steps, speedup in ((2, 2.0), (4, 0.5)):
        monkeypatch.setattr(precision, "bf16_speedup", lambda speedup=speedup: speedup)
        training = replace(config.training, precision="auto", max_steps=steps, checkpoint_every=2)
        train(replace(config, training=training), corpus_folder, tmp_path / "run")
        summaries = [message for message in caplog.messages if "parameters" in message]
        assert summaries[-1].endswith("1 x cpu, torch.bfloat16")
        assert caplog.messages[-1] == f"step {steps}: training.max_steps is reached"


def test_training_can_start_from_a_bundles_weights(
    tiny_bundle: Path,
    config: Config,
    corpus_folder: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    plain = replace(config, model=replace(config.model, dropout=0.0, d_model=64))
    train(plain, corpus_folder, tmp_path / "run", init_bundle=tiny_bundle)
    assert losses(tmp_path / "run")["train", 1][0] < 1.0, (
        "training starts from the bundle's weights"
    )
    assert checkpoint.load_run(tmp_path / "run", 1).config.model.d_model == 32
    assert "the bundle's sizes are used: d_model = 32 instead of 64" in caplog.messages


def test_a_run_uses_the_vocabulary_and_tokens_that_were_prepared(
    corpus_folder: Path, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    command = [config_file(config, tmp_path), "--data", str(corpus_folder), "--out", str(run)]
    assert main([*command, "--prepare"]) == 0
    assert sorted(path.name for path in run.iterdir()) == ["sentencepiece.model", "tokens"]
    monkeypatch.setattr("model.train.train_tokenizer", None)
    monkeypatch.setattr("model.data.corpus._tokenize", None)
    assert main([*command, "--set", "training.max_steps=1"]) == 0
    assert checkpoint.load_run(run, 1).step == 1


def test_a_bundles_embeddings_can_be_used_with_new_layers(
    tiny_bundle: Path, config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    """With a learning rate near 0, tables keep the bundle's values, and layers their random ones."""
    sizes = replace(config.model, d_model=32, norm="pre", num_encoder_layers=3)
    steps = replace(config.training, max_steps=1, learning_rate_factor=1e-9)
    other = replace(config, model=sizes, training=steps)
    train(other, corpus_folder, tmp_path / "run", init_bundle=tiny_bundle, new_layers=True)
    found, given = checkpoint.load_run(tmp_path / "run", 1), bundle.load(tiny_bundle)
    assert (found.config.model.norm, found.config.model.num_encoder_layers) == ("pre", 3)
    table, query = "embedding.weight", "encoder.0.self_attention.w_q.weight"
    torch.testing.assert_close(found.weights[table], given.weights[table])
    assert not torch.allclose(found.weights[query], given.weights[query], atol=1e-3)
    wider = replace(other, model=replace(sizes, d_model=64))
    with pytest.raises(ConfigError, match=r"the bundle has d_model = 32, but model\.d_model = 64"):
        train(wider, corpus_folder, tmp_path / "wide", init_bundle=tiny_bundle, new_layers=True)


def test_a_terminated_run_resumes_from_its_last_checkpoint(
    corpus_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    options = [
        "tiny", "--data", str(corpus_folder), "--out", str(run), "--set", "model.vocab_size=72",
        "--set", "data.byte_fallback=false", "--set", "model.d_model=32",
        "--set", "data.normalization=identity", "--set", "training.bleu_sentences=2",
        "--set", "training.batch_tokens=200", "--set", "training.checkpoint_every=3",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "model.train", *options, "--set", "training.max_steps=100000"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        wait_until(lambda: len(checkpoint.list_checkpoints(run)) >= 2, 120)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, stderr
    last = checkpoint.load_run(run, 1).step
    caplog.set_level("INFO")
    assert main([*options, "--set", f"training.max_steps={last + 2}"]) == 0
    assert f"resuming {run} at step {last}" in caplog.messages
    assert checkpoint.load_run(run, 1).step == last + 2


def test_bad_data_ends_with_a_message_and_status_1(
    corpus_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (corpus_folder / "train.en").open("a") as file:
        file.write("one line more\n")
    status = main(["tiny", "--data", str(corpus_folder), "--out", str(tmp_path / "run")])
    assert status == 1
    assert "train.en: has 201 lines, but" in capsys.readouterr().err
    assert main(["medium", "--data", "x", "--out", "y"]) == 1
    assert "neither a TOML file nor one of the presets" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_losses_on_a_gpu_equal_those_on_a_cpu(
    config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    plain = replace(config, model=replace(config.model, dropout=0.0))
    train(plain, corpus_folder, tmp_path / "cpu")
    cuda = Processes(device=torch.device("cuda"))
    train(plain, corpus_folder, tmp_path / "cuda", processes=cuda)
    cpu, gpu = losses(tmp_path / "cpu"), losses(tmp_path / "cuda")
    assert cpu.keys() == gpu.keys()
    for key, (loss, *_) in cpu.items():
        assert gpu[key][0] == pytest.approx(loss, rel=1e-3), key


def test_training_stops_when_bleu_no_longer_rises_and_keeps_the_best_checkpoint(
    config: Config, corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([3.0, 5.0, 4.0, 5.0, 9.0])
    monkeypatch.setattr("model.trainer.greedy_bleu", lambda *_: {"de-en": next(scores)})
    steps = replace(config.training, max_steps=20, validate_every=2, patience=2)
    train(replace(config, training=steps), corpus_folder, tmp_path / "run")
    assert checkpoint.load_run(tmp_path / "run", 1).step == 8
    [best] = checkpoint.list_checkpoints(tmp_path / "run", "best")
    assert checkpoint.load(best).step == 4


TRAIN_TOGETHER = """
import sys
from pathlib import Path
from model.config import load_config
from model.distributed import joined
from model.train import train
data, run = map(Path, sys.argv[1:])
with joined() as processes:
    train(load_config(f"{run}.toml"), data, run, processes=processes)
"""


def test_two_processes_equal_one_with_twice_the_batches(
    config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    plain = replace(config, model=replace(config.model, dropout=0.0))
    config_file(plain, tmp_path, "two")
    accumulated = replace(plain.training, accumulate_batches=2)
    train(replace(plain, training=accumulated), corpus_folder, tmp_path / "one")
    script = tmp_path / "train_together.py"
    script.write_text(TRAIN_TOGETHER)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", script, corpus_folder, tmp_path / "two"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert one.keys() == two.keys()
    for key, (loss, _) in one.items():
        assert two[key][0] == pytest.approx(loss, rel=1e-5), key
    weights = [checkpoint.load_run(tmp_path / name, 1).weights for name in ("one", "two")]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(weights[1][name], tensor, rtol=1e-3, atol=1e-5, msg=name)


def config_file(config: Config, folder: Path, name: str = "config") -> str:
    """Write the configuration as TOML."""
    lines = []
    for section, values in config.to_mapping().items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items() if value != {}]
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("training", {"data_workers": 1}),
        ("training", {"optimizer": "muon"}),
        ("data", {"subword_alpha": 0.3}),
        ("model", {"attention_dropout": 0.1, "activation_dropout": 0.1}),
        ("model", {"norm": "pre", "activation": "gelu", "embeddings": "separate"}),
    ],
)
def test_every_kind_of_training_lowers_the_loss_and_resumes_exactly(
    config: Config, corpus_folder: Path, tmp_path: Path, section: str, changes: dict[str, Any]
) -> None:
    config = replace(config, **{section: replace(getattr(config, section), **changes)})
    short = replace(config, training=replace(config.training, max_steps=7))
    train(short, corpus_folder, tmp_path / "halves")
    for run in ("whole", "halves"):
        train(config, corpus_folder, tmp_path / run)
    whole, halves = losses(tmp_path / "whole"), losses(tmp_path / "halves")
    del halves["validation", 7]
    assert halves == whole
    assert whole["validation", 12][0] < whole["validation", 6][0]

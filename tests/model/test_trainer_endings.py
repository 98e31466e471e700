"""How training can end: complete checkpoints always remain, and a message says what to do."""

import itertools
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from model import checkpoint
from model.config import Config
from model.log import read
from model.train import main, train
from model.trainer import TrainingError
from model.transformer import Transformer
from tests.make_tiny_bundle import CONFIG


def run_python(
    script: str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, which some endings need."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


TRAIN_TWICE = """
import os, signal, sys
from pathlib import Path
import torch
from model.train import train
from tests.make_tiny_bundle import CONFIG
from dataclasses import replace
data, run = map(Path, sys.argv[1:])
steps = replace(CONFIG.training, max_steps=2, checkpoint_every=1, batch_tokens=300, bleu_sentences=2)
train(replace(CONFIG, training=steps), data, run)
save = torch.save

def killed_halfway(value, path):
    save(value, path)
    with open(path, "r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    os.kill(os.getpid(), signal.SIGKILL)

torch.save = killed_halfway
train(replace(CONFIG, training=replace(steps, max_steps=3)), data, run)
"""


def test_a_run_killed_while_it_writes_a_checkpoint_resumes_from_the_previous_one(
    corpus_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = run_python(TRAIN_TWICE, corpus_folder, run)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (run / ".step_0000003.partial").is_dir(), "it was killed while writing"
    assert checkpoint.load_run(run, 1).step == 2
    steps = replace(CONFIG.training, max_steps=4, checkpoint_every=1, batch_tokens=300)
    train(replace(CONFIG, training=replace(steps, bleu_sentences=2)), corpus_folder, run)
    assert checkpoint.load_run(run, 1).step == 4


FULL_DISK = """
import resource, sys
from model.train import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


def test_a_full_disk_is_an_error_and_earlier_checkpoints_are_preserved(
    corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on file sizes simulates a full disk: writes beyond it fail in the same way."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # its file would not fit either
    run = tmp_path / "run"
    command = [
        "tiny", "--data", corpus_folder, "--out", run, "--set", "model.vocab_size=72",
        "--set", "data.byte_fallback=false", "--set", "data.normalization=identity",
        "--set", "model.d_model=32", "--set", "training.checkpoint_every=1",
        "--set", "training.bleu_sentences=2", "--set", "training.batch_tokens=300",
    ]  # fmt: skip
    assert main([*map(str, command), "--set", "training.max_steps=2"]) == 0
    done = run_python(FULL_DISK, 100_000, *command, "--set", "training.max_steps=4")
    assert done.returncode == 1
    assert "step_0000003 could not be written: " in done.stderr
    assert "the latest complete checkpoint is step_0000002" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(run.glob(".step*")), "the partial checkpoint is removed"
    assert checkpoint.load_run(run, 1).step == 2


def test_a_loss_of_nan_stops_training_before_anything_is_saved(
    config: Config, corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train(replace(config, training=replace(config.training, max_steps=4)), corpus_folder, run)
    project = Transformer.project
    monkeypatch.setattr(Transformer, "project", lambda self, x: project(self, x) * math.nan)
    steps = replace(config.training, log_every=100)
    with pytest.raises(
        TrainingError, match=r"step 6: the loss is nan; continue from .*step_0000004"
    ):
        train(replace(config, training=steps), corpus_folder, run)
    assert checkpoint.load_run(run, 1).step == 4
    assert all(math.isfinite(report["loss"]) for report in read(run))


def test_a_checkpoint_of_another_version_is_an_error_that_names_it(
    config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    short = replace(config, training=replace(config.training, max_steps=4))
    train(short, corpus_folder, run)
    path = run / "step_0000004" / "training.pt"
    state = torch.load(path)
    del state["next_batch"]
    torch.save(state, path)
    with pytest.raises(TrainingError, match=r"step_0000004: training\.pt has no 'next_batch'"):
        train(config, corpus_folder, run)

    state["next_batch"] = 0
    state["optimizer"]["adam"]["param_groups"].pop()
    torch.save(state, path)
    with pytest.raises(TrainingError, match=r"training\.pt has no 'adam in 2 groups'"):
        train(config, corpus_folder, run)


@pytest.mark.parametrize(
    ("section", "name", "value", "message"),
    [
        ("training", "optimizer", "muon", r"training\.optimizer = 'adam', .* with 'muon'"),
        ("model", "activation", "gelu", r"model\.activation = 'relu', .* with 'gelu'; .* --out"),
    ],
)
def test_a_run_cannot_change_its_optimizer_or_its_network(
    config: Config,
    corpus_folder: Path,
    tmp_path: Path,
    section: str,
    name: str,
    value: str,
    message: str,
) -> None:
    short = replace(config, training=replace(config.training, max_steps=4))
    train(short, corpus_folder, tmp_path / "run")
    changed: Any = replace(getattr(config, section), **{name: value})
    with pytest.raises(TrainingError, match=f"step_0000004 was trained with {message}"):
        train(replace(config, **{section: changed}), corpus_folder, tmp_path / "run")


def test_out_of_memory_saves_the_last_complete_step_and_names_the_option_to_lower(
    config: Config, corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count(1)
    forward = Transformer.forward

    def running_out(self: Transformer, source: Any, target: Any) -> Any:
        if self.training and next(calls) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, source, target)

    monkeypatch.setattr(Transformer, "forward", running_out)
    config = replace(config, training=replace(config.training, log_every=100))
    with pytest.raises(
        TrainingError, match=r"step 4: out of memory.*training\.batch_tokens below 300"
    ):
        train(config, corpus_folder, tmp_path / "run")
    assert checkpoint.load_run(tmp_path / "run", 1).step == 3

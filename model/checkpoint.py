"""Checkpoints on disk: one folder each, written under a temporary name and renamed when complete.

`RUN/step_0001000/` contains `config.json`, `sentencepiece.model`, `weights.pt` and `training.pt` (the state
of the optimizer and the position in the data, from which training resumes). `RUN/best_0001000/` is the
checkpoint with the best BLEU.
"""

import json
import os
import pickle
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from model.config import Config
from model.tokenizer import PAD_ID, Vocabularies
from model.transformer import Transformer

Weights = Mapping[str, Tensor]
Kind = Literal["step", "best"]


class CheckpointError(ValueError):
    """A checkpoint cannot be read, written or combined with others."""


@dataclass(frozen=True)
class Checkpoint:
    """A trained network with everything needed to use it or to continue its training."""

    config: Config
    vocabularies: Vocabularies
    weights: Weights
    step: int

    def network(self) -> Transformer:
        """Build the network with these weights, in evaluation mode, on the CPU."""
        network = Transformer(self.config.model, PAD_ID)
        network.load_state_dict(dict(self.weights))
        return network.eval()


def save(
    run: Path,
    checkpoint: Checkpoint,
    training_state: Mapping[str, Any],
    keep: int,
    kind: Kind = "step",
) -> Path:
    """Write `run/step_N` or `run/best_N`, and delete all but the last `keep` folders of this kind.

    Returns:
        The new folder.

    Raises:
        CheckpointError: the checkpoint could not be written. Existing checkpoints are unchanged.
    """
    folder = run / f"{kind}_{checkpoint.step:07d}"
    partial = run / f".{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _write(partial, checkpoint, training_state)
    except (OSError, RuntimeError) as error:  # torch raises a RuntimeError if the disk is full
        shutil.rmtree(partial, ignore_errors=True)
        names = [path.name for path in list_checkpoints(run)]
        advice = (
            f"the latest complete checkpoint is {names[-1]}" if names else "there is no earlier one"
        )
        raise CheckpointError(f"{folder} could not be written: {error}; {advice}") from error
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    for outdated in list_checkpoints(run, kind)[:-keep]:
        shutil.rmtree(outdated)
    return folder


def _write(folder: Path, checkpoint: Checkpoint, training_state: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    description = {"step": checkpoint.step, **checkpoint.config.to_mapping()}
    (folder / "config.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    checkpoint.vocabularies.save(folder)
    torch.save(dict(checkpoint.weights), folder / "weights.pt")
    torch.save(dict(training_state), folder / "training.pt")
    for path in folder.iterdir():  # must be on disk before the rename, in case of a power failure
        with path.open("rb") as file:
            os.fsync(file.fileno())


def list_checkpoints(run: Path, kind: Kind = "step") -> list[Path]:
    """Return the checkpoint folders of a run, oldest first."""
    return sorted(path for path in run.glob(f"{kind}_*") if (path / "weights.pt").is_file())


def load(folder: Path) -> Checkpoint:
    """Read one checkpoint folder.

    Raises:
        CheckpointError: a file is missing or unreadable.
    """
    try:
        description = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        step = description.pop("step")
        weights = torch.load(folder / "weights.pt", map_location="cpu", weights_only=True)
        vocabularies = Vocabularies.load(folder)
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder}: no checkpoint: {error.filename} is missing") from None
    except (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, EOFError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise CheckpointError(f"{folder}: damaged checkpoint: {reason}") from error
    return Checkpoint(
        Config.from_stored(description, str(folder / "config.json")), vocabularies, weights, step
    )


def load_training_state(folder: Path) -> dict[str, Any]:
    """Load the training state that `save` wrote."""
    state: dict[str, Any] = torch.load(
        folder / "training.pt", map_location="cpu", weights_only=True
    )
    return state


def average(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """Average the weights of several checkpoints; step and configuration are those of the last.

    The checkpoints may be the last ones of a run, as in section 6.1 of the paper, or come from runs that
    started from the same weights (Wortsman et al., 2022).

    Raises:
        CheckpointError: the networks differ in size, or the vocabularies differ.
    """
    last = checkpoints[-1]
    for other in checkpoints:
        sizes = other.config.model.with_regularization_of(last.config.model)
        if sizes != last.config.model:
            raise CheckpointError(
                f"networks of different sizes cannot be averaged: {sizes}, {last.config.model}"
            )
        if other.vocabularies != last.vocabularies:
            raise CheckpointError("networks with different vocabularies cannot be averaged")
    mean = {
        name: torch.stack([checkpoint.weights[name].double() for checkpoint in checkpoints])
        .mean(0)
        .to(tensor.dtype)
        for name, tensor in last.weights.items()
    }
    return replace(last, weights=mean)


def load_run(path: Path, last: int) -> Checkpoint:
    """Load a checkpoint folder, or the average of the `last` checkpoints of a run.

    Raises:
        CheckpointError: `path` is neither, or a checkpoint in it is unreadable.
    """
    if (path / "weights.pt").is_file():
        return load(path)
    folders = list_checkpoints(path)
    if not folders:
        raise CheckpointError(f"{path}: neither a checkpoint nor a run with checkpoints")
    return average([load(folder) for folder in folders[-last:]])

"""Training checkpoints saved by torch: their parts by name, and the options of the training."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from export.importers.imported import SourceError
from export.importers.settings import Settings, shown
from export.importers.tensors import load_pickle

PATTERN = "*.pt"
PREFERRED = "checkpoint_best.pt", "model.pt"


def has_checkpoint(source: Path) -> bool:
    """Check whether a folder has a checkpoint."""
    return source.is_dir() and any(source.glob(PATTERN))


def checkpoint_of(source: Path) -> Path:
    """Return the only checkpoint of a folder, or the first of `PREFERRED`.

    Raises:
        SourceError: there are several, and none of them is preferred.
    """
    paths = sorted(source.glob(PATTERN))
    preferred = [path for name in PREFERRED for path in paths if path.name == name]
    if preferred or len(paths) == 1:
        return (preferred or paths)[0]
    names = ", ".join(path.name for path in paths)
    raise SourceError(f"{source}: has {names}; supported: one of them, or a {PREFERRED[0]}")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read the parts of a checkpoint, by name; no code in it is executed.

    Raises:
        SourceError: the checkpoint is broken, or contains code.
    """
    parts = load_pickle(path)
    if not isinstance(parts, dict):
        raise SourceError(
            f"{path}: contains a {type(parts).__name__}; supported: a dict of parts by name"
        )
    return parts


def options(path: Path, key: str, stored: object) -> Mapping[str, Any]:
    """Return the options `stored` under a key of a checkpoint, as a dict or a `Namespace`.

    Raises:
        SourceError: they are neither, or one of them is a tensor.
    """
    values = vars(stored) if isinstance(stored, Namespace) else stored
    if isinstance(values, dict):
        for name, value in values.items():
            if isinstance(value, Tensor):
                raise SourceError(
                    f"{path}: {key}: {shown(name)} is a tensor; supported: numbers, texts, lists, tables"
                )
        return values
    raise SourceError(f"{path}: {key} = {shown(stored)}; supported: options by name")


def settings_of(path: Path, key: str, values: Mapping[str, Any]) -> Settings:
    """Wrap options as settings, whose errors name the file and `key`."""
    return Settings(path / key, read=lambda _: dict(values))

"""Training checkpoints that torch saved: the parts of one by name, and the options of the training."""

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
    """Whether a folder holds one."""
    return source.is_dir() and any(source.glob(PATTERN))


def checkpoint_of(source: Path) -> Path:
    """The only checkpoint of a folder, or the one that is called the best.

    Raises:
        SourceError: there are several.
    """
    found = sorted(source.glob(PATTERN))
    best = [path for name in PREFERRED for path in found if path.name == name]
    if best or len(found) == 1:
        return (best or found)[0]
    names = ", ".join(path.name for path in found)
    raise SourceError(f"{source}: has {names}; supported: one of them, or a {PREFERRED[0]}")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What is in it by name.

    Raises:
        SourceError: it is broken, or holds code, of which nothing is run.
    """
    found = load_pickle(path)
    if not isinstance(found, dict):
        raise SourceError(
            f"{path}: is a {type(found).__name__}; supported: a table of parts by name"
        )
    return found


def options(path: Path, key: str, found: object) -> Mapping[str, Any]:
    """The options under a key of a checkpoint, however they are stored.

    Raises:
        SourceError: they are none.
    """
    values = vars(found) if isinstance(found, Namespace) else found
    if isinstance(values, dict):
        for name, value in values.items():
            if isinstance(value, Tensor):
                raise SourceError(
                    f"{path}: {key}: {shown(name)} is a tensor; supported: numbers, texts, lists, tables"
                )
        return values
    raise SourceError(f"{path}: {key} = {shown(found)}; supported: options by name")


def settings_of(path: Path, key: str, values: Mapping[str, Any]) -> Settings:
    """Options, as settings of which what is wrong is told with the file and `key`."""
    return Settings(path / key, read=lambda _: dict(values))

"""Marian's weights and the configuration within them: arrays alone, nothing that a file holds is run."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from export.importers.archive import UNREADABLE, check_sizes
from export.importers.imported import SourceError
from export.importers.settings import Settings
from export.importers.tensors import Tensors

CONFIGURATION = "special:model.yml"
MAX_YAML_BYTES = 1 << 20


def load_npz(path: Path) -> tuple[Settings, Tensors]:
    """The configuration and the tensors of a model.

    Raises:
        SourceError: the file is broken, too large, or none of Marian's.
    """
    if not path.is_file():
        raise SourceError(f"{path}: is missing")
    try:
        with zipfile.ZipFile(path) as file:
            check_sizes(path, file.infolist())
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, np.ndarray] = {name: file[name] for name in file.files}
        if CONFIGURATION not in arrays:
            raise SourceError(
                f"{path}: has no {CONFIGURATION}; supported: models that Marian saved"
            )
        text = arrays.pop(CONFIGURATION).tobytes().rstrip(b"\0")
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    except SourceError:
        raise
    except (*UNREADABLE, TypeError, MemoryError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SourceError(f"{path}: cannot be read, it may be truncated: {reason}") from None
    settings = Settings(path / CONFIGURATION, read=lambda where: parse_yaml(where, text))
    return settings, Tensors(path, tensors)


def read_yaml(path: Path) -> dict[str, Any]:
    """A configuration of Marian's; nothing where there is none.

    Raises:
        SourceError: it is too long, or no table of values by name.
    """
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return parse_yaml(path, file.read(MAX_YAML_BYTES + 1))


def parse_yaml(where: Path, text: bytes) -> dict[str, Any]:
    """Likewise, of what has been read."""
    if len(text) > MAX_YAML_BYTES:
        raise SourceError(f"{where}: has more than {MAX_YAML_BYTES} bytes")
    try:
        found = yaml.safe_load(text.decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "it is nested too deeply"
        raise SourceError(f"{where}: is not valid YAML: {reason}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{where}: is not a table of named values")
    return found

"""Marian's weights files, with the configuration inside them; only arrays are read, no code is executed."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from export.importers.archive import UNREADABLE, check_sizes
from export.importers.imported import SourceError
from export.importers.settings import Settings, check_file, named_values, read_small
from export.importers.tensors import Tensors, unreadable

CONFIGURATION = "special:model.yml"
MAX_YAML_BYTES = 1 << 20


class _Loader(yaml.SafeLoader):
    """Loads YAML without code, duplicate keys and aliases, as Marian writes it.

    A few lines of aliases of aliases stand for gigabytes as soon as their value is printed or copied.
    """

    def __init__(self, where: Path, text: str) -> None:
        super().__init__(text)
        self.where = where

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node.

        Raises:
            SourceError: it is an alias.
        """
        if self.check_event(yaml.AliasEvent):
            anchor = self.peek_event().anchor  # type: ignore[no-untyped-call]
            raise SourceError(
                f"{self.where}: has the alias *{anchor}; supported: YAML without aliases"
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct a dict.

        Raises:
            SourceError: a key occurs twice.
        """
        keys = (key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        named_values(self.where, ((key, None) for key in keys))
        return super().construct_mapping(node, deep)


def load_npz(path: Path) -> tuple[Settings, Tensors]:
    """Read the configuration and the tensors of a model.

    Raises:
        SourceError: the file is missing, broken, too large, or was not saved by Marian.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as file:
            check_sizes(path, file.infolist())
            named_values(path, ((name, None) for name in file.namelist()))
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, np.ndarray] = {name: file[name] for name in file.files}
        if CONFIGURATION not in arrays:
            raise SourceError(f"{path}: has no {CONFIGURATION}; supported: models saved by Marian")
        text = arrays.pop(CONFIGURATION).tobytes().rstrip(b"\0")
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    except SourceError:
        raise
    except (*UNREADABLE, TypeError, MemoryError) as error:
        raise unreadable(path, error) from None
    settings = Settings(path / CONFIGURATION, read=lambda where: parse_yaml(where, text))
    return settings, Tensors(path, tensors)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML configuration; return an empty one if there is no such file.

    Raises:
        SourceError: it is too long, or is not a valid YAML mapping.
    """
    return parse_yaml(path, read_small(path)) if path.exists() else {}


def parse_yaml(where: Path, text: bytes) -> dict[str, Any]:
    """Parse a YAML configuration; `where` is named in error messages.

    Raises:
        SourceError: it is too long, or is not a valid YAML mapping.
    """
    if len(text) > MAX_YAML_BYTES:
        raise SourceError(f"{where}: has more than {MAX_YAML_BYTES} bytes")
    try:
        settings = _Loader(where, text.decode()).get_single_data()
    except SourceError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "it is nested too deeply"
        raise SourceError(f"{where}: is not valid YAML: {reason}") from None
    if not isinstance(settings, dict):
        raise SourceError(f"{where}: is not a YAML mapping")
    return settings

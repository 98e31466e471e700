"""Weights out of files of others: tensors only, no code of theirs is run, and each is what it should be."""

import argparse
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from export.importers.imported import SourceError

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"
UNREADABLE = (
    RuntimeError, ValueError, TypeError, EOFError, OSError, KeyError, IndexError, AttributeError,
    AssertionError, OverflowError, MemoryError, RecursionError, ImportError, NotImplementedError,
)  # fmt: skip
"""What torch raises for one broken file or another."""


class Tensors:
    """The tensors of one file, each taken once."""

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        """Nothing has been taken."""
        self.path, self._tensors = path, tensors
        self._left = set(tensors)

    @classmethod
    def of_folder(cls, folder: Path) -> "Tensors":
        """The weights of a Hugging Face folder.

        Raises:
            SourceError: there are none, or they are not tensors alone.
        """
        for name in (SAFETENSORS, PICKLED):
            path = folder / name
            if path.is_file():
                return cls(path, load_tensors(path))
            if (index := folder / f"{name}.index.json").exists():
                raise SourceError(
                    f"{index}: weights in several files are not supported, only {name}"
                )
        raise SourceError(f"{folder}: has no weights; supported: {SAFETENSORS}, {PICKLED}")

    def __contains__(self, key: str) -> bool:
        """Whether there is a tensor of this name."""
        return key in self._tensors

    def take(self, key: str, *shape: int) -> Tensor:
        """A tensor as float32.

        Raises:
            SourceError: it is missing, has another shape or kind, or holds what is no number.
        """
        if key not in self._tensors:
            raise SourceError(f"{self.path}: has no {key}, which must be of shape {list(shape)}")
        tensor = self._tensors[key]
        self._left.discard(key)
        if tuple(tensor.shape) != shape:
            raise SourceError(
                f"{self.path}: {key} is of shape {list(tensor.shape)}, the configuration says {list(shape)}"
            )
        if not tensor.is_floating_point():
            raise SourceError(f"{self.path}: {key} is of {tensor.dtype}; supported: floating point")
        tensor = tensor.float()
        if not tensor.isfinite().all():
            raise SourceError(f"{self.path}: {key} holds values that are not finite")
        return tensor

    def ignore(self, *keys: str) -> None:
        """Tensors that are not needed."""
        self._left -= set(keys)

    def check_all_taken(self) -> None:
        """Nothing may be left: it would be a part of the network that is not built.

        Raises:
            SourceError: with the name of what is.
        """
        if self._left:
            raise SourceError(
                f"{self.path}: {min(self._left)} is no part of the network that the configuration describes"
            )


def load_tensors(path: Path) -> Mapping[str, Tensor]:
    """All tensors of a file.

    Raises:
        SourceError: it is broken, or holds anything else.
    """
    try:
        found = load_file(path) if path.suffix == ".safetensors" else load_pickle(path)
    except (SafetensorError, *UNREADABLE) as error:
        raise unreadable(path, error) from None
    return tensors_of(path, found)


def load_pickle(path: Path) -> Any:
    """What torch saved: tensors, numbers, texts, tables and lists, and argparse's options.

    Raises:
        SourceError: the file is broken, or holds anything else, of which nothing is run.
    """
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).partition("\n")[0]
        raise SourceError(
            f"{path}: holds more than tensors, and none of it was run: {reason}; supported: tensors alone"
        ) from None
    except UNREADABLE as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> SourceError:
    """What is said of a file that its library cannot read."""
    reason = str(error).partition("\n")[0] or type(error).__name__
    return SourceError(f"{path}: cannot be read, it may be truncated: {reason}")


def tensors_of(path: Path, found: object) -> Mapping[str, Tensor]:
    """What is to be a table of tensors.

    Raises:
        SourceError: it is none.
    """
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(one, Tensor) for name, one in found.items()
    ):
        raise SourceError(f"{path}: is no table of tensors by name")
    return found

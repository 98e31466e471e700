"""Weights out of files of others: tensors only, no code of theirs is run, and each is what it should be."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from export.importers.imported import SourceError

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"


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
                return cls(path, _load(path))
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


def _load(path: Path) -> Mapping[str, Tensor]:
    """All tensors of a file.

    Raises:
        SourceError: it is broken, or holds anything else.
    """
    try:
        if path.name == SAFETENSORS:
            found = load_file(path)
        else:
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).partition("\n")[0]
        raise SourceError(
            f"{path}: holds more than tensors, and none of it was run: {reason}; supported: tensors alone"
        ) from None
    except (SafetensorError, RuntimeError, ValueError, EOFError, OSError, KeyError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SourceError(f"{path}: cannot be read, it may be truncated: {reason}") from None
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise SourceError(f"{path}: is no table of tensors by name")
    return found

"""Weights read from files of other projects: only tensors are read and checked; no code is executed."""

import argparse
import pickle
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from export.importers.imported import SourceError, is_out_of_memory
from export.importers.settings import check_file, parse_json, shown

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"
STORED_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
UNREADABLE = (
    RuntimeError, ValueError, TypeError, EOFError, OSError, KeyError, IndexError, AttributeError,
    AssertionError, OverflowError, MemoryError, RecursionError, ImportError, NotImplementedError,
)  # fmt: skip
"""Errors that torch raises for broken files."""
LARGEST = 1e9
"""Largest absolute value of a weight: with larger ones, sums of products may overflow in float32."""
CODE = re.compile(r"GLOBAL ([\w.]+)")
"""Finds in torch's error message what a pickle would call."""
LOCAL_FILE = b"PK\x03\x04"
"""First bytes of the archives that torch writes."""


class Tensors:
    """The tensors of one file, with a record of those that have not been used yet."""

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        """Wrap tensors; `path` is named in error messages."""
        self.path, self._tensors = path, tensors
        self._left = set(tensors)

    @classmethod
    def of_folder(cls, folder: Path) -> "Tensors":
        """Open the weights of a Hugging Face folder.

        Raises:
            SourceError: they are missing, broken, split into several files, or contain more than tensors.
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
        """Check whether there is a tensor of this name."""
        return key in self._tensors

    def take(self, key: str, *shape: int) -> Tensor:
        """Return a tensor as float32, and mark it as used.

        Raises:
            SourceError: it is missing, has another shape, is not floating point, or has values that are not
                finite or too large.
        """
        if key not in self._tensors:
            raise SourceError(f"{self.path}: has no {key}, which must have shape {list(shape)}")
        tensor = self._tensors[key]
        self._left.discard(key)
        if tuple(tensor.shape) != shape:
            raise SourceError(
                f"{self.path}: {key} has shape {list(tensor.shape)}, but the configuration requires "
                f"{list(shape)}"
            )
        if not tensor.is_floating_point():
            raise SourceError(f"{self.path}: {key} is {tensor.dtype}; supported: floating point")
        tensor = tensor.detach().float()
        low, high = map(float, tensor.aminmax())
        if not (low >= -LARGEST and high <= LARGEST):
            raise SourceError(
                f"{self.path}: {key} has values that are not finite, or larger than {LARGEST:g}"
            )
        return tensor

    def ignore(self, *keys: str) -> None:
        """Mark tensors that are not needed as used."""
        self._left -= set(keys)

    def check_all_taken(self) -> None:
        """Check that all tensors were used: others would be parts of the network that are not built.

        Raises:
            SourceError: a tensor was not used.
        """
        if self._left:
            raise SourceError(
                f"{self.path}: {min(self._left)} is not part of the network that the configuration describes"
            )


def load_tensors(path: Path) -> Mapping[str, Tensor]:
    """Read all tensors of a file.

    Raises:
        SourceError: the file is broken, or contains more than tensors.
    """
    check_file(path)
    try:
        if path.suffix == ".safetensors":
            return MappedTensors(path)
    except SourceError:
        raise
    except (SafetensorError, *UNREADABLE) as error:
        raise unreadable(path, error) from None
    return tensors_of(path, load_pickle(path))


class MappedTensors(Mapping[str, Tensor]):
    """The tensors of a safetensors file, each mapped separately on access.

    So tensors that are no longer used do not occupy memory. safetensors itself keeps the whole file mapped as
    long as one of its tensors is in use.
    """

    def __init__(self, path: Path) -> None:
        """Check the file, and read the positions of its tensors.

        Raises:
            SafetensorError, OSError: the file is broken or cannot be read.
        """
        self._path = path
        with safe_open(path, "pt"):  # checks everything that is read below
            pass
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._described = parse_json(path, file.read(size))
        self._described.pop("__metadata__", None)
        self._first = 8 + size

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._described)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._described)

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor in the type that it is stored in."""
        description = self._described[name]
        if description["dtype"] not in STORED_TYPES:
            known = ", ".join(STORED_TYPES)
            raise SourceError(f"{self._path}: {name} is {description['dtype']}; supported: {known}")
        start, end = description["data_offsets"]
        dtype, shape = STORED_TYPES[description["dtype"]], description["shape"]
        if start == end:
            return torch.empty(shape, dtype=dtype)
        # "c" is copy-on-write: changes of a tensor never reach the file
        stored: np.ndarray = np.memmap(self._path, np.uint8, "c", self._first + start, end - start)
        if start % dtype.itemsize:
            stored = np.array(stored)
        return torch.from_numpy(stored).view(dtype).reshape(shape)


def load_pickle(path: Path) -> Any:
    """Read a file saved by torch: tensors, numbers, strings, dicts, lists, and argparse's options.

    Raises:
        SourceError: the file is broken, or contains anything else; no code in it is executed.
    """
    check_file(path)
    try:
        _check_archive(path)
        with torch.serialization.safe_globals([argparse.Namespace]), warnings.catch_warnings():
            # they concern kinds of files and tensors that are rejected
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if (match := CODE.search(str(error))) is None:
            raise unreadable(path, ValueError("it was not written by torch")) from None
        raise SourceError(
            f"{path}: contains code, which was not executed: {match[1]}; supported: only tensors"
        ) from None
    except SourceError:
        raise
    except (zipfile.BadZipFile, *UNREADABLE) as error:
        raise unreadable(path, error) from None


def _check_archive(path: Path) -> None:
    """Check that an archive does not grow when it is unpacked, as torch writes no compressed ones.

    Raises:
        SourceError: it would unpack to more bytes than it has.
    """
    with path.open("rb") as file:
        if file.read(len(LOCAL_FILE)) != LOCAL_FILE:
            return
    with zipfile.ZipFile(path) as archive:
        total = sum(member.file_size for member in archive.infolist())
    if total > (size := path.stat().st_size):
        raise SourceError(f"{path}: unpacks to {total} bytes; supported: up to its size, {size}")


def unreadable(path: Path, error: Exception) -> SourceError:
    """Return the error for a file that its library cannot read."""
    if is_out_of_memory(error):
        return SourceError(f"{path}: there is not enough memory to read it")
    reason = str(error).partition("\n")[0].partition(". ")[0] or type(error).__name__
    return SourceError(f"{path}: cannot be read, it may be truncated: {reason}")


def tensors_of(path: Path, value: object) -> Mapping[str, Tensor]:
    """Check that `value` is a dict of tensors by name, and return it.

    Raises:
        SourceError: it is not.
    """
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise SourceError(f"{path}: is not a dict of tensors by name")
    for name, tensor in value.items():
        if not _is_plain(tensor):
            raise SourceError(f"{path}: {shown(name)} is {shown(tensor)}; supported: dense tensors")
    return value


def _is_plain(value: object) -> bool:
    """Check whether this is a dense tensor whose values are all in the file."""
    return (
        isinstance(value, Tensor)
        and not value.is_nested
        and value.layout is torch.strided
        and value.device.type == "cpu"
        and value.numel() * value.element_size() <= value.untyped_storage().nbytes()
    )

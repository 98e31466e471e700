"""Weights out of files of others: tensors only, no code of theirs is run, and each is what it should be."""

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

from export.importers.imported import SourceError
from export.importers.settings import parse_json, shown

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"
STORED_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
UNREADABLE = (
    RuntimeError, ValueError, TypeError, EOFError, OSError, KeyError, IndexError, AttributeError,
    AssertionError, OverflowError, MemoryError, RecursionError, ImportError, NotImplementedError,
)  # fmt: skip
"""What torch raises for one broken file or another."""
LARGEST = 1e9
"""Of a weight; sums of products of larger ones are no numbers in float32."""
CODE = re.compile(r"GLOBAL ([\w.]+)")
"""What torch says that a pickle would call."""
LOCAL_FILE = b"PK\x03\x04"
"""How the archives begin that torch writes."""


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
        tensor = tensor.detach().float()
        low, high = map(float, tensor.aminmax())
        if not (low >= -LARGEST and high <= LARGEST):
            raise SourceError(
                f"{self.path}: {key} holds values that are not finite, or larger than {LARGEST:g}"
            )
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
        if path.suffix == ".safetensors":
            return MappedTensors(path)
    except SourceError:
        raise
    except (SafetensorError, *UNREADABLE) as error:
        raise unreadable(path, error) from None
    return tensors_of(path, load_pickle(path))


class MappedTensors(Mapping[str, Tensor]):
    """The tensors of a file of safetensors, each mapped anew whenever it is asked for.

    So what is no longer used leaves the memory; safetensors itself maps the whole file for as long as one is.
    """

    def __init__(self, path: Path) -> None:
        """Check the file, and read where its tensors are.

        Raises:
            SafetensorError, OSError: it is broken.
        """
        self._path = path
        with safe_open(path, "pt"):  # which checks all that is read here
            pass
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._described = parse_json(path, file.read(size))
        self._described.pop("__metadata__", None)
        self._first = 8 + size

    def __len__(self) -> int:
        """How many there are."""
        return len(self._described)

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._described)

    def __getitem__(self, name: str) -> Tensor:
        """One of them, in the type that it is stored in."""
        one = self._described[name]
        if one["dtype"] not in STORED_TYPES:
            known = ", ".join(STORED_TYPES)
            raise SourceError(f"{self._path}: {name} is of {one['dtype']}; supported: {known}")
        begin, end = one["data_offsets"]
        dtype, shape = STORED_TYPES[one["dtype"]], one["shape"]
        if begin == end:
            return torch.empty(shape, dtype=dtype)
        # "c": what is written to a tensor never reaches the file
        raw: np.ndarray = np.memmap(self._path, np.uint8, "c", self._first + begin, end - begin)
        if begin % dtype.itemsize:
            raw = np.array(raw)
        return torch.from_numpy(raw).view(dtype).reshape(shape)


def load_pickle(path: Path) -> Any:
    """What torch saved: tensors, numbers, texts, tables and lists, and argparse's options.

    Raises:
        SourceError: the file is broken, or holds anything else, of which nothing is run.
    """
    if not path.is_file():
        raise SourceError(f"{path}: is not a file")
    try:
        _check_archive(path)
        with torch.serialization.safe_globals([argparse.Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of kinds of files and tensors that are refused
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if (found := CODE.search(str(error))) is None:
            raise unreadable(path, ValueError("torch has not written it")) from None
        raise SourceError(
            f"{path}: holds more than tensors, and none of it was run: {found[1]}; supported: tensors alone"
        ) from None
    except SourceError:
        raise
    except (zipfile.BadZipFile, *UNREADABLE) as error:
        raise unreadable(path, error) from None


def _check_archive(path: Path) -> None:
    """Whether an archive has no more bytes when it is unpacked; torch compresses none of them.

    Raises:
        SourceError: it has.
    """
    with path.open("rb") as file:
        if file.read(len(LOCAL_FILE)) != LOCAL_FILE:
            return
    with zipfile.ZipFile(path) as archive:
        total = sum(member.file_size for member in archive.infolist())
    if total > (size := path.stat().st_size):
        raise SourceError(f"{path}: unpacks to {total} bytes; supported: up to its size, {size}")


def unreadable(path: Path, error: Exception) -> SourceError:
    """What is said of a file that its library cannot read."""
    reason = str(error).partition("\n")[0].partition(". ")[0] or type(error).__name__
    return SourceError(f"{path}: cannot be read, it may be truncated: {reason}")


def tensors_of(path: Path, found: object) -> Mapping[str, Tensor]:
    """What is to be a table of tensors.

    Raises:
        SourceError: it is none.
    """
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise SourceError(f"{path}: is no table of tensors by name")
    for name, one in found.items():
        if not _is_plain(one):
            raise SourceError(f"{path}: {shown(name)} is {shown(one)}; supported: dense tensors")
    return found


def _is_plain(found: object) -> bool:
    """Whether this is a tensor all of whose numbers are in the file."""
    return (
        isinstance(found, Tensor)
        and not found.is_nested
        and found.layout is torch.strided
        and found.device.type == "cpu"
        and found.numel() * found.element_size() <= found.untyped_storage().nbytes()
    )

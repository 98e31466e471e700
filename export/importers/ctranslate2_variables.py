"""CTranslate2's `model.bin`: named tensors, read without its library and converted to float32 on access.

Layout, little-endian: version u32; name of the specification; its revision u32; number of variables u32; for
each variable: name, rank u8, dimensions u32, type u8 (before version 4: bytes per item), number of bytes u32
(before version 4: of items), values; since version 3, number of aliases u32; for each alias: its name and the
variable's name. A name is its length u16, including a final NUL, and its characters. For a quantised variable
`NAME` there is also a variable `NAME_scale`: value = stored / scale.
"""

import mmap
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from export.importers.imported import SourceError
from export.importers.settings import check_file, named_values

VERSIONS = 2, 6
"""First and last supported version of the file's layout."""
MAX_VARIABLES, MAX_RANK = 100_000, 4
TYPES = "float32", "int8", "int16", "int32", "float16", "bfloat16"
TYPES_BY_SIZE = {4: "float32", 2: "int16", 1: "int8"}
INT16_SCALE = 1000.0
"""The scale of int16 variables in files without scales."""


class Variables(Mapping[str, Tensor]):
    """The tensors of a file by name or alias, without scales and scalars."""

    def __init__(self, path: Path) -> None:
        """Read the names and shapes; the values of tensors are read on access.

        Raises:
            SourceError: the file is broken, or its version is not supported.
        """
        self.path = path
        reader = _Reader(path)
        first_version, last_version = VERSIONS
        version = reader.number("I")
        if not first_version <= version <= last_version:
            raise SourceError(
                f"{path}: has version {version}; supported: {first_version} to {last_version}"
            )
        self.version = version
        self.specification, self.revision = reader.name(), reader.number("I")
        self._arrays = named_values(path, reader.variables(version))
        aliases = reader.number("I", MAX_VARIABLES) if version >= 3 else 0
        alias_pairs = ((reader.name(), reader.name()) for _ in range(aliases))
        self._aliases = named_values(path, alias_pairs)
        for alias, name in self._aliases.items():
            if name not in self._arrays:
                raise SourceError(f"{path}: {alias} is an alias of {name}, which is missing")
        reader.check_end()
        scales = {f"{name}_scale" for name in (*self._arrays, *self._aliases)}
        names = [name for name in (*self._arrays, *self._aliases) if name not in scales]
        self._names = [name for name in names if self._array(name).ndim]
        self.scalars = {
            name: float(self._array(name)) for name in names if not self._array(name).ndim
        }
        """Variables that are single numbers: sizes, flags, choices."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Check whether there is a tensor of this name."""
        return name in self._arrays or name in self._aliases

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor as float32, or as int64 if it has integers that are not quantised values."""
        array = self._array(name)
        if array.dtype == np.uint16:  # bfloat16 is the upper half of float32
            return torch.from_numpy((array.astype(np.uint32) << 16).view(np.float32))
        if array.dtype in (np.int8, np.int16):
            with np.errstate(over="ignore"):  # `Tensors.take` reports values that are not finite
                return torch.from_numpy(array.astype(np.float32) / self._scale(name, array))
        return torch.from_numpy(array.astype(np.float32 if array.dtype.kind == "f" else np.int64))

    def _scale(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return the scale of a quantised variable: one number, or one for each row."""
        key = f"{self._aliases.get(name, name)}_scale"
        if key not in self and array.dtype == np.int16:
            return np.array(INT16_SCALE, np.float32)
        if key not in self:
            raise SourceError(f"{self.path}: {name} is int8, but {key} is missing")
        scale = self._array(key).astype(np.float32)
        if scale.ndim and scale.shape != array.shape[:1]:
            raise SourceError(
                f"{self.path}: {key} has shape {list(scale.shape)}, but {name} has {list(array.shape)}"
            )
        if not (np.isfinite(scale) & (scale != 0)).all():
            raise SourceError(f"{self.path}: {key} has values that are zero or not finite")
        return scale.reshape(-1, *[1] * (array.ndim - 1)) if scale.ndim else scale

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the numbers of rows and columns of a matrix.

        Raises:
            SourceError: the variable is missing, or not a matrix.
        """
        if name not in self:
            raise SourceError(f"{self.path}: has no {name}")
        shape = self._array(name).shape
        if len(shape) != 2:
            raise SourceError(
                f"{self.path}: {name} has shape {list(shape)}; supported: two dimensions"
            )
        return shape

    def is_flag(self, name: str) -> bool:
        """Check whether a scalar is a boolean, which is stored in a byte."""
        return self._array(name).dtype == np.int8

    def _array(self, name: str) -> np.ndarray:
        return self._arrays[self._aliases.get(name, name)]


class _Reader:
    """Reads a file sequentially."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 0
        check_file(path)
        try:
            with path.open("rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: it is empty
            raise SourceError(f"{path}: cannot be read: {error}") from None

    def take(self, size: int) -> int:
        """Advance by `size` bytes; return the position of the first one."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise SourceError(
                f"{self.path}: ends at byte {len(self.data)}, in the middle of a value; it may be "
                "truncated"
            )
        return start

    def number(self, kind: str, limit: int = 2**32) -> int:
        """Read an integer of a `struct` type."""
        [number] = struct.unpack_from(f"<{kind}", self.data, self.take(struct.calcsize(f"<{kind}")))
        if number > limit:
            raise SourceError(f"{self.path}: byte {self.at}: {number} is more than {limit}")
        return int(number)

    def name(self) -> str:
        """Read a name."""
        length = self.number("H")
        start = self.take(length)
        encoded = self.data[start : self.at]
        try:
            name = encoded.decode()
        except UnicodeDecodeError:
            name = ""
        if not name.endswith("\0") or not name[:-1].isprintable():
            raise SourceError(
                f"{self.path}: there is no valid name at byte {start}; it may not be a CTranslate2 model"
            )
        return name[:-1]

    def variables(self, version: int) -> Iterator[tuple[str, np.ndarray]]:
        """Read all variables; their values stay in the file."""
        for _ in range(self.number("I", MAX_VARIABLES)):
            name = self.name()
            shape = [self.number("I") for _ in range(self.number("B", MAX_RANK))]
            kind = self._kind(name, self.number("B"), version)
            dtype: Any = np.dtype({"bfloat16": "uint16"}.get(kind, kind)).newbyteorder("<")
            size = self.number("I") * (dtype.itemsize if version < 4 else 1)
            count = 1
            for dimension in shape:
                count *= dimension
            if size != count * dtype.itemsize:
                raise SourceError(
                    f"{self.path}: {name} has {size} bytes, but {shape} of {kind} needs "
                    f"{count * dtype.itemsize}"
                )
            yield name, np.frombuffer(self.data, dtype, count, self.take(size)).reshape(shape)

    def _kind(self, name: str, type_number: int, version: int) -> str:
        types = TYPES_BY_SIZE if version < 4 else dict(enumerate(TYPES))
        if type_number not in types:
            names = ", ".join(TYPES)
            raise SourceError(f"{self.path}: {name} has type {type_number}; supported: {names}")
        return types[type_number]

    def check_end(self) -> None:
        """Check that the whole file was read."""
        if self.at != len(self.data):
            raise SourceError(
                f"{self.path}: has {len(self.data) - self.at} unexpected bytes at its end"
            )

"""CTranslate2's `model.bin`: named tensors, read without its library, each as float32 when it is asked for.

Layout, little-endian: version u32; name of the specification; its revision u32; count u32; by variable its
name, rank u8, dimensions u32, type u8 (before version 4 the bytes of an item), bytes u32 (before version 4
items) and values; count u32 of aliases (since version 3); by alias two names. A name is its length u16, NUL
counted, and its characters. What is quantised has a variable `NAME_scale` beside it: value = stored / scale.
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
from export.importers.settings import named_values

VERSIONS = 2, 6
"""First and last of the file's layout that are read."""
MAX_VARIABLES, MAX_RANK = 100_000, 4
TYPES = "float32", "int8", "int16", "int32", "float16", "bfloat16"
TYPES_BY_SIZE = {4: "float32", 2: "int16", 1: "int8"}
INT16_SCALE = 1000.0
"""Of files that do not say it."""


class Variables(Mapping[str, Tensor]):
    """The tensors of a file by name, without scales and scalars; an alias is a name like others."""

    def __init__(self, path: Path) -> None:
        """Read what is there, and no values yet.

        Raises:
            SourceError: the file is broken, or of another version.
        """
        self.path = path
        reader = _Reader(path)
        first, last = VERSIONS
        version = reader.number("I")
        if not first <= version <= last:
            raise SourceError(f"{path}: is of version {version}; supported: {first} to {last}")
        self.version = version
        self.specification, self.revision = reader.name(), reader.number("I")
        self._arrays = named_values(path, reader.variables(version))
        aliases = reader.number("I", MAX_VARIABLES) if version >= 3 else 0
        named = ((reader.name(), reader.name()) for _ in range(aliases))
        self._aliases = named_values(path, named)
        for alias, name in self._aliases.items():
            if name not in self._arrays:
                raise SourceError(f"{path}: {alias} stands for {name}, which is not there")
        reader.check_end()
        scales = {f"{name}_scale" for name in (*self._arrays, *self._aliases)}
        names = [name for name in (*self._arrays, *self._aliases) if name not in scales]
        self._names = [name for name in names if self._array(name).ndim]
        self.scalars = {
            name: float(self._array(name)) for name in names if not self._array(name).ndim
        }
        """What is no tensor, but a number: sizes, flags, choices."""

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of this name."""
        return name in self._arrays or name in self._aliases

    def __getitem__(self, name: str) -> Tensor:
        """A tensor as float32; of whole numbers that are no quantised ones, as it is."""
        array = self._array(name)
        if array.dtype == np.uint16:  # bfloat16 is the upper half of float32
            return torch.from_numpy((array.astype(np.uint32) << 16).view(np.float32))
        if array.dtype in (np.int8, np.int16):
            with np.errstate(over="ignore"):  # what is not finite is told by its name
                return torch.from_numpy(array.astype(np.float32) / self._scale(name, array))
        return torch.from_numpy(array.astype(np.float32 if array.dtype.kind == "f" else np.int64))

    def _scale(self, name: str, array: np.ndarray) -> np.ndarray:
        """What the stored values were multiplied by: a number, or one of each row."""
        key = f"{self._aliases.get(name, name)}_scale"
        if key not in self and array.dtype == np.int16:
            return np.array(INT16_SCALE, np.float32)
        if key not in self:
            raise SourceError(f"{self.path}: {name} is of int8, and there is no {key}")
        scale = self._array(key).astype(np.float32)
        if scale.ndim and scale.shape != array.shape[:1]:
            raise SourceError(
                f"{self.path}: {key} is of shape {list(scale.shape)}, and {name} of {list(array.shape)}"
            )
        if not (np.isfinite(scale) & (scale != 0)).all():
            raise SourceError(f"{self.path}: {key} holds values that no scale can have")
        return scale.reshape(-1, *[1] * (array.ndim - 1)) if scale.ndim else scale

    def shape(self, name: str) -> tuple[int, ...]:
        """Rows and columns of a table.

        Raises:
            SourceError: it is missing, or is no table.
        """
        if name not in self:
            raise SourceError(f"{self.path}: has no {name}")
        shape = self._array(name).shape
        if len(shape) != 2:
            raise SourceError(
                f"{self.path}: {name} is of shape {list(shape)}; supported: two dimensions"
            )
        return shape

    def is_flag(self, name: str) -> bool:
        """Whether a scalar is a truth value, which is stored in a byte."""
        return self._array(name).dtype == np.int8

    def _array(self, name: str) -> np.ndarray:
        return self._arrays[self._aliases.get(name, name)]


class _Reader:
    """A file, from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 0
        try:
            with path.open("rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: it is empty
            raise SourceError(f"{path}: cannot be read: {error}") from None

    def take(self, size: int) -> int:
        """Pass so many bytes; returns where they begin."""
        begin, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise SourceError(
                f"{self.path}: ends at byte {len(self.data)}, in the middle of what it holds; it may be "
                "truncated"
            )
        return begin

    def number(self, kind: str, limit: int = 2**32) -> int:
        """A whole number of a `struct` type."""
        [found] = struct.unpack_from(f"<{kind}", self.data, self.take(struct.calcsize(f"<{kind}")))
        if found > limit:
            raise SourceError(f"{self.path}: byte {self.at}: {found} is more than {limit}")
        return int(found)

    def name(self) -> str:
        """A name."""
        length = self.number("H")
        begin = self.take(length)
        raw = self.data[begin : self.at]
        try:
            found = raw.decode()
        except UnicodeDecodeError:
            found = ""
        if not found.endswith("\0") or not found[:-1].isprintable():
            raise SourceError(f"{self.path}: byte {begin} is not a name; this is not such a file")
        return found[:-1]

    def variables(self, version: int) -> Iterator[tuple[str, np.ndarray]]:
        """All of them; their values stay in the file."""
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
                    f"{self.path}: {name} has {size} bytes, and {shape} of {kind} are "
                    f"{count * dtype.itemsize}"
                )
            yield name, np.frombuffer(self.data, dtype, count, self.take(size)).reshape(shape)

    def _kind(self, name: str, stored: int, version: int) -> str:
        known = TYPES_BY_SIZE if version < 4 else dict(enumerate(TYPES))
        if stored not in known:
            names = ", ".join(TYPES)
            raise SourceError(f"{self.path}: {name} is of type {stored}; supported: {names}")
        return known[stored]

    def check_end(self) -> None:
        """Whether nothing is left."""
        if self.at != len(self.data):
            raise SourceError(f"{self.path}: {len(self.data) - self.at} bytes are left at its end")

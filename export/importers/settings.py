"""Configurations of others: a value of another kind than expected is told with file and key."""

import json
import reprlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from export.importers.imported import SourceError

Kind = TypeVar("Kind")
Name = TypeVar("Name")
Value = TypeVar("Value")
MAX_BYTES = 1 << 26


class _Shown(reprlib.Repr):
    """Bounded: the values that YAML's anchors or a pickle share may be endless when they are written out."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 80, 80

    def repr_int(self, x: int, level: int) -> str:
        """Python writes no number of more than some thousand digits."""
        return super().repr_int(x, level) if x.bit_length() < 128 else f"({x.bit_length()} bits)"


def shown(value: object) -> str:
    """A value as Python writes it, in one line; of what is long or deep, a part.

    >>> print(shown(["x"] * 9), shown(10**5000))
    ['x', 'x', 'x', 'x', 'x', 'x', ...] (16610 bits)
    """
    return _Shown().repr(value).replace("\n", " ")


def read_small(path: Path) -> bytes:
    """A file that holds no weights.

    Raises:
        SourceError: it is missing, no file, or too large for what it is.
    """
    if not path.exists():
        raise SourceError(f"{path}: is missing")
    if not path.is_file():
        raise SourceError(f"{path}: is not a file")
    if path.stat().st_size > MAX_BYTES:
        raise SourceError(f"{path}: has more than {MAX_BYTES} bytes")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from None


def named_values(path: Path, pairs: Iterable[tuple[Name, Value]]) -> dict[Name, Value]:
    """A table of them.

    Raises:
        SourceError: a name is there twice: libraries differ in which of the values they take.
    """
    found: dict[Name, Value] = {}
    for name, value in pairs:
        if name in found:
            raise SourceError(f"{path}: {shown(name)} is there twice")
        found[name] = value
    return found


def parse_json(path: Path, text: bytes) -> Any:
    """What a file of JSON says.

    Raises:
        SourceError: it is none, or names a value twice.
    """
    try:
        return json.loads(text.decode(), object_pairs_hook=partial(named_values, path))
    except SourceError:
        raise
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: is not valid JSON: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    """An object out of a file.

    Raises:
        SourceError: the file is missing, is no JSON, or holds something else.
    """
    found = parse_json(path, read_small(path))
    if not isinstance(found, dict):
        raise SourceError(f"{path}: is not a JSON object")
    return found


class Settings:
    """What some files say, the first one before the others."""

    def __init__(self, *paths: Path, read: Callable[[Path], dict[str, Any]] = read_json) -> None:
        """Read those that are there.

        Raises:
            SourceError: none is there, or one cannot be read.
        """
        there = [path for path in paths if path.exists()] or list(paths[-1:])
        self._values = [(path, read(path)) for path in there]
        self.path = there[-1]

    def get(self, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
        """A value; null is none.

        Raises:
            SourceError: it is of another kind, or missing without a default.
        """
        path, value = self._find(key)
        if value is None and default is None:
            raise SourceError(f"{path}: {key} is missing")
        if value is None:
            value = default
        if kind is float and type(value) is int and value.bit_length() < 1024:
            value = float(value)
        if type(value) is not kind:
            raise SourceError(f"{path}: {key} = {shown(value)}; supported: {kind.__name__}")
        return value

    def number(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within limits.

        Raises:
            SourceError: it is none.
        """
        value = self.get(key, int, default)
        if not low <= value <= high:
            path = self._find(key)[0]
            raise SourceError(f"{path}: {key} = {shown(value)}; supported: {low} to {high}")
        return value

    def _find(self, key: str) -> tuple[Path, Any]:
        """The file that says something of a key, and what it says; the last file where none does."""
        for path, values in self._values:
            if values.get(key) is not None:
                return path, values[key]
        return self.path, None

    def refuse(self, key: str, *supported: object) -> None:
        """Of a key that is there, no other values will do.

        Raises:
            SourceError: it has one.
        """
        for path, values in self._values:
            value = values.get(key)
            if value is not None and value not in supported:
                names = ", ".join(map(repr, supported)) or "none"
                raise SourceError(f"{path}: {key} = {shown(value)}; supported: {names}")

    def all(self, key: str) -> list[Any]:
        """What the files say of a key, those that say anything."""
        return [values[key] for _, values in self._values if key in values]

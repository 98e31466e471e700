"""Configuration files of other projects; errors name the file, the key and the value."""

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
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class _Shown(reprlib.Repr):
    """A bounded `repr`: values with YAML anchors or from pickles may have endless ones."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 80, 80

    def repr_int(self, number: int, level: int) -> str:
        """Abbreviate large integers: Python refuses to format those of more than 4,300 digits."""
        if number.bit_length() < 128:
            return super().repr_int(number, level)
        return f"({number.bit_length()} bits)"


def shown(value: object) -> str:
    """Return the `repr` of a value in one line; long or deep values are abbreviated.

    >>> print(shown(["x"] * 9), shown(10**5000))
    ['x', 'x', 'x', 'x', 'x', 'x', ...] (16610 bits)
    """
    return _Shown().repr(value).replace("\n", " ")


def check_file(path: Path) -> None:
    """Check that this is a file with a content of its own.

    Raises:
        SourceError: it is missing, not a file, or what Git LFS leaves in the place of a large file.
    """
    if not path.exists():
        raise SourceError(f"{path}: is missing")
    if not path.is_file():
        raise SourceError(f"{path}: is not a file")
    with path.open("rb") as file:
        if file.read(len(LFS_POINTER)) == LFS_POINTER:
            raise SourceError(
                f"{path}: is a pointer of Git LFS, not the file itself; get it with `git lfs pull` in its "
                "folder, or download it again"
            )


def read_small(path: Path) -> bytes:
    """Read a file of at most `MAX_BYTES`, such as a configuration.

    Raises:
        SourceError: it is missing, not a file, too large, or cannot be read.
    """
    check_file(path)
    if path.stat().st_size > MAX_BYTES:
        raise SourceError(f"{path}: has more than {MAX_BYTES} bytes")
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from None


def named_values(path: Path, pairs: Iterable[tuple[Name, Value]]) -> dict[Name, Value]:
    """Make a dict of pairs, whose names must be unique.

    Raises:
        SourceError: a name occurs twice: libraries differ in which of the values they use.
    """
    values: dict[Name, Value] = {}
    for name, value in pairs:
        if name in values:
            raise SourceError(f"{path}: {shown(name)} occurs twice")
        values[name] = value
    return values


def parse_json(path: Path, text: bytes) -> Any:
    """Parse the JSON `text` of a file.

    Raises:
        SourceError: it is not valid JSON, or an object has a name twice.
    """
    try:
        return json.loads(text.decode(), object_pairs_hook=partial(named_values, path))
    except SourceError:
        raise
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: is not valid JSON: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object.

    Raises:
        SourceError: the file is missing, or is not a valid JSON object.
    """
    values = parse_json(path, read_small(path))
    if not isinstance(values, dict):
        raise SourceError(f"{path}: is not a JSON object")
    return values


class Settings:
    """Settings from one or several files; the first file that has a key is used."""

    def __init__(self, *paths: Path, read: Callable[[Path], dict[str, Any]] = read_json) -> None:
        """Read the files that exist.

        Raises:
            SourceError: none exists, or one cannot be read.
        """
        existing = [path for path in paths if path.exists()] or list(paths[-1:])
        self._values = [(path, read(path)) for path in existing]
        self.path = existing[-1]

    def get(self, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
        """Return a value; null counts as missing.

        Raises:
            SourceError: the value has another type, or is missing and there is no default.
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
        """Return an integer between `low` and `high`.

        Raises:
            SourceError: the value is not an integer, is out of range, or is missing without a default.
        """
        value = self.get(key, int, default)
        if not low <= value <= high:
            path = self._find(key)[0]
            raise SourceError(f"{path}: {key} = {shown(value)}; supported: {low} to {high}")
        return value

    def _find(self, key: str) -> tuple[Path, Any]:
        """Return the first file that has a key, and the value; or the last file and None."""
        for path, values in self._values:
            if values.get(key) is not None:
                return path, values[key]
        return self.path, None

    def refuse(self, key: str, *supported: object) -> None:
        """Check that a key is missing or null, or has one of the supported values, in every file.

        Raises:
            SourceError: it has another value.
        """
        for path, values in self._values:
            value = values.get(key)
            if value is not None and value not in supported:
                names = ", ".join(map(repr, supported)) or "none"
                raise SourceError(f"{path}: {key} = {shown(value)}; supported: {names}")

    def all(self, key: str) -> list[Any]:
        """Return the values of a key, from all files that have it."""
        return [values[key] for _, values in self._values if key in values]

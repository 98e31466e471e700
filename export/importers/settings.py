"""Configurations of others: a value of another kind than expected is told with file and key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from export.importers.imported import SourceError

Kind = TypeVar("Kind")
MAX_BYTES = 1 << 26


def read_json(path: Path) -> dict[str, Any]:
    """An object out of a file.

    Raises:
        SourceError: the file is missing, is no JSON, or holds something else.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SourceError(f"{path}: has more than {MAX_BYTES} bytes")
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(f"{path}: is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: is not valid JSON: {str(error) or 'too deep'}") from None
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
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise SourceError(f"{path}: {key} = {value!r}; supported: {kind.__name__}")
        return value

    def number(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within limits.

        Raises:
            SourceError: it is none.
        """
        value = self.get(key, int, default)
        if not low <= value <= high:
            raise SourceError(f"{self._find(key)[0]}: {key} = {value}; supported: {low} to {high}")
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
                names = ", ".join(map(repr, supported))
                raise SourceError(f"{path}: {key} = {value!r}; supported: {names}")

    def all(self, key: str) -> list[Any]:
        """What the files say of a key, those that say anything."""
        return [values[key] for _, values in self._values if key in values]

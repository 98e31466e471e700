"""Translated lines on their way to the disk; each write is whole, so that a file may be cut behind it."""

from io import FileIO
from pathlib import Path

from service.bulk.compression import compressor
from service.bulk.disk import append


class Writer:
    """Appends to a file, compressed by the suffix of its final name."""

    def __init__(self, path: Path, size: int, suffix: str) -> None:
        """Go on behind the first `size` bytes; what stands there was written by a run that was killed.

        Raises:
            OSError: it cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = FileIO(path, "r+" if size else "w")
        self._file.truncate(size)
        self._file.seek(size)
        self._compressed = compressor(suffix)
        self._kept: list[str] = []
        self.size = size
        """Of the file on the disk."""

    def add(self, lines: list[str]) -> None:
        """Keep lines for the next `flush`."""
        self._kept += lines

    def flush(self) -> None:
        """Have what was added on the disk, even if the power fails.

        Raises:
            BulkError: there is no room for it.
        """
        if self._kept:
            content = self._compressed("".join(self._kept).encode("utf-8"))
            append(self._file, content)
            self.size += len(content)
            self._kept = []

    def close(self) -> None:
        """What was not flushed is left out."""
        self._file.close()

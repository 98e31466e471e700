"""Writing of translated lines; a file can be truncated after each write and is still valid."""

from io import FileIO
from pathlib import Path

from service.bulk.compression import compressor
from service.bulk.disk import append


class Writer:
    """Appends to a file, compressed by the suffix of its final name."""

    def __init__(self, path: Path, size: int, suffix: str) -> None:
        """Continue a file after its first `size` bytes; remove anything that a killed run wrote after them.

        Raises:
            OSError: the file cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = FileIO(path, "r+" if size else "w")
        self._file.truncate(size)
        self._file.seek(size)
        self._compressed = compressor(suffix)
        self._kept: list[str] = []
        self.size = size
        """Bytes of the file on disk."""

    def add(self, lines: list[str]) -> None:
        """Keep lines for the next `flush`."""
        self._kept += lines

    def flush(self) -> None:
        """Write the added lines durably to disk; a file without lines must be valid, too.

        Raises:
            BulkError: the disk is full, or fails.
        """
        if self._kept or not self.size:
            content = self._compressed("".join(self._kept).encode("utf-8"))
            append(self._file, content)
            self.size += len(content)
            self._kept = []

    def close(self) -> None:
        """Close the file without flushing."""
        self._file.close()

"""Lines of files, compressed or not, in windows; what cannot be read is an error that names the line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from service.bulk.compression import DAMAGED, opened
from service.bulk.errors import BulkError

MAX_LINE_BYTES = 1 << 20
"""Of a line; what a compressed file holds may be a thousand times as long as the file."""
WINDOW_LINES, WINDOW_BYTES = 1024, 4 << 20
"""Lines that are sorted and written together, fewer where they are long."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, in their order."""

    file: int
    """Its number among the files."""
    first: int
    """The number of the first line, from 1."""
    lines: list[str]
    """With their ends."""
    position: int
    """Bytes of the file, as it lies on the disk, that were read for it."""


def windows(path: Path, file: int = 0, skip: int = 0) -> Iterator[Window]:
    """The lines of a file after the first `skip`; no window where there are none.

    Raises:
        BulkError: a line is too long or not UTF-8, or the file is damaged or shorter than that.
        OSError: the file cannot be read.
    """
    with opened(path) as (file_of_lines, raw):
        number, lines, size = 0, list[str](), 0
        for number, line in enumerate(_lines(path, file_of_lines), 1):
            if number <= skip:
                continue
            lines.append(_decoded(path, number, line))
            size += len(line)
            if len(lines) == WINDOW_LINES or size >= WINDOW_BYTES:
                yield Window(file, number - len(lines) + 1, lines, raw.tell())
                lines, size = [], 0
        if number < skip:
            raise BulkError(f"{path} has {number} lines, and {skip} were translated already")
        if lines:
            yield Window(file, number - len(lines) + 1, lines, raw.tell())


def _lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    number = 0
    try:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise BulkError(
                    f"{path}, line {number} has more than {MAX_LINE_BYTES} bytes, which is the limit"
                )
            yield line
    except DAMAGED as error:
        raise BulkError(f"{path} is damaged behind line {number}: {error}") from error


def _decoded(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BulkError(
            f"{path}, line {number} is not UTF-8: byte {error.start + 1} is {line[error.start]:#04x}"
        ) from error

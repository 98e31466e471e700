"""Reading of files, compressed or not, in windows of lines; errors name the line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from service.bulk.compression import DAMAGED, opened
from service.bulk.errors import BulkError

MAX_LINE_BYTES = 1 << 20
"""Maximum length of a line; without it, a small compressed file could fill the memory."""
FIRST_LINES, WINDOW_LINES, WINDOW_BYTES = 64, 1024, 4 << 20
"""Maximum number of lines of the first window, which doubles from one to the next, and of any window, and the
size in bytes at which one ends."""


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive lines of a file, which are sorted and written together."""

    file: int
    """Index of the file."""
    first: int
    """Number of the first line, from 1."""
    lines: list[str]
    """The lines with their line endings."""
    position: int
    """Bytes of the file on disk that were read up to the end of the window."""


def windows(path: Path, file: int = 0, skip: int = 0) -> Iterator[Window]:
    """Yield the lines of a file after the first `skip` in windows, the first of which are done soon.

    Raises:
        BulkError: a line is too long or not UTF-8, or the file is damaged or has fewer than `skip` lines.
        OSError: the file cannot be read.
    """
    with opened(path) as (file_of_lines, raw):
        number, lines, size, most = 0, list[str](), 0, min(FIRST_LINES, WINDOW_LINES)
        for number, line in enumerate(lines_of(path, file_of_lines), 1):
            if number <= skip:
                continue
            lines.append(_decoded(path, number, line))
            size += len(line)
            if len(lines) == most or size >= WINDOW_BYTES:
                yield Window(file, number - len(lines) + 1, lines, raw.tell())
                lines, size, most = [], 0, min(2 * most, WINDOW_LINES)
        if number < skip:
            raise BulkError(f"{path} has {number} lines, but {skip} were translated already")
        if lines:
            yield Window(file, number - len(lines) + 1, lines, raw.tell())


def lines_of(name: object, file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of an open file.

    Raises:
        BulkError: a line is too long, or the file is damaged; the message begins with `name`.
    """
    number = 0
    try:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise BulkError(
                    f"{name}, line {number} has more than {MAX_LINE_BYTES} bytes, which is the limit"
                )
            yield line
    except DAMAGED as error:
        raise BulkError(f"{name} is damaged after line {number}: {error}") from error


def _decoded(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BulkError(
            f"{path}, line {number} is not UTF-8: byte {error.start + 1} is {line[error.start]:#04x}"
        ) from error

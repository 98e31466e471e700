"""Durable writing."""

import os
from io import FileIO

from service.bulk.errors import BulkError


def append(file: FileIO, content: bytes) -> None:
    """Write all of `content`, and return once it is on disk and survives a power failure.

    Raises:
        BulkError: the disk is full, or fails; a part may have been written.
    """
    remaining = memoryview(content)
    try:
        while remaining:
            remaining = remaining[file.write(remaining) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise BulkError(
            f"{file.name}: {error.strerror}; once this is fixed, run the same command again to continue"
        ) from error

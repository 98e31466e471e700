"""Writing that is done when it says so."""

import os
from io import FileIO

from service.bulk.errors import BulkError


def append(file: FileIO, content: bytes) -> None:
    """Have all of it on the disk, even if the power fails.

    Raises:
        BulkError: there is no room, or the disk fails; a part of it may be written.
    """
    left = memoryview(content)
    try:
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise BulkError(
            f"{file.name}: {error.strerror}; once that is mended, the same command continues"
        ) from error

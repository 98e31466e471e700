"""Plain and compressed files, by suffix."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP, ZSTD = ".gz", ".zst"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError)
"""Errors raised on reading a file that is truncated, or not in the format of its suffix."""


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, io.BufferedReader]]:
    """Open a file for reading.

    Yields:
        The decompressed content, and the file on disk, whose position shows how much of it has been read.
    """
    with path.open("rb") as raw:
        if path.suffix == GZIP:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield io.BufferedReader(unpacked), raw
        elif path.suffix == ZSTD:
            with zstd.ZstdFile(raw) as unpacked:
                yield io.BufferedReader(unpacked), raw
        else:
            yield raw, raw


def compressor(suffix: str) -> Callable[[bytes], bytes]:
    """Return the compression for a suffix; concatenated results decompress to the concatenated contents."""
    known: dict[str, Callable[[bytes], bytes]] = {GZIP: _gzip, ZSTD: zstd.compress}
    return known.get(suffix, bytes)


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)

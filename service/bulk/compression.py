"""Files that are compressed or not, by suffix."""

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
"""What reading raises where a file is cut short or not what its name says."""


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, io.BufferedReader]]:
    """A file to be read, decompressed; and the same as it lies on the disk, which tells how far that is."""
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
    """What compresses for files of that suffix; several results behind one another are read as one."""
    known: dict[str, Callable[[bytes], bytes]] = {GZIP: _gzip, ZSTD: zstd.compress}
    return known.get(suffix, bytes)


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)

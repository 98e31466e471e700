"""Reads a bundle's files as untrusted input: every problem is a BundleError."""

import hashlib
import json
import lzma
import math
import mmap
import os
import re
import stat
from collections import Counter
from io import BufferedReader
from pathlib import Path
from typing import Any

from service.errors import BundleError

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 1 << 20
MAX_TEXT_BYTES = 1 << 24
"""Limit for a table or the golden sentences."""
MAX_LZMA_MEMORY = 1 << 27
"""Bytes of memory for decompression; `xz -9` needs half of that."""
MAX_PRINTABLE = 100
"""Maximum characters quoted from a bundle in a message."""
_LOCATION = re.compile(rb"\n\x08location\x12([\x80-\xff]{0,2}[\0-\x7f])")


def unreadable(path: Path, error: Exception) -> BundleError:
    """Return the error that a file or folder cannot be read, with the system's reason."""
    reason = getattr(error, "strerror", None)
    if reason is None:
        return BundleError(": cannot be read", path, str(error))
    return BundleError(f": cannot be read: {reason}", path)


def regular_file(folder: Path, name: str) -> Path:
    """Return the path of a bundle's file.

    Raises:
        BundleError: the file is missing, is not a regular file, or is a link to outside the folder.
    """
    file = folder / name
    try:
        target = file.resolve(strict=True)
        mode = target.stat().st_mode
        is_inside = target.is_relative_to(folder.resolve())
    except FileNotFoundError:
        raise BundleError(" is missing", file) from None
    except (OSError, RuntimeError, ValueError) as error:  # a name that is too long, a loop of links
        raise unreadable(file, error) from None
    if not is_inside:
        raise BundleError(" points outside the bundle folder", file)
    if not stat.S_ISREG(mode):
        raise BundleError(" is not a regular file", file)
    return file


def read_text(path: Path, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Read a text file, decompressing it if its name ends in `.xz`.

    Raises:
        BundleError: the file is too large, cannot be read or is not UTF-8.
    """
    try:
        with _opened(path) as file:
            data = file.read(max_bytes + 1)
        if path.suffix == ".xz" and len(data) <= max_bytes:
            data = _decompressed(data, max_bytes + 1)
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise unreadable(path, error) from None
    if len(data) > max_bytes:
        raise BundleError(f" has more than {max_bytes} bytes", path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8, {error.reason}"
        raise BundleError(f": cannot be read: {reason}", path) from None


def _opened(path: Path) -> BufferedReader:
    """Open a file without blocking: it may have become a pipe, whose opening would wait for a writer.

    Raises:
        BundleError: it is not a regular file.
        OSError, ValueError: it cannot be opened.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BundleError(" is not a regular file", path)
    return file


def _decompressed(data: bytes, max_bytes: int) -> bytes:
    """Decompress `data`, but at most `max_bytes` of the result."""
    unpack = lzma.LZMADecompressor(memlimit=MAX_LZMA_MEMORY)
    text = unpack.decompress(data, max_bytes)
    if not unpack.eof and len(text) < max_bytes:
        raise lzma.LZMAError("it ends too early")
    return text


def read_manifest(folder: Path) -> Any:
    """Return the content of `manifest.json`.

    Raises:
        BundleError: the file is missing or is not valid JSON, or the path is not UTF-8.
    """
    path = folder / MANIFEST
    try:
        path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise BundleError(
            f" is not a bundle: {MANIFEST} cannot be read: {reason}", folder
        ) from None
    try:
        str(folder).encode()
    except UnicodeEncodeError:  # libraries that read the files would not find them
        path = Path(printable(str(folder)))
        raise BundleError(" is not a bundle: its path is not UTF-8", path) from None
    text = read_text(regular_file(folder, MANIFEST), MAX_MANIFEST_BYTES)
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique
        )
    except ValueError as error:
        raise BundleError(f" is not valid JSON: {printable(str(error))}", path) from None
    except RecursionError:
        raise BundleError(" is not valid JSON: it is nested too deeply", path) from None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits.

    Raises:
        BundleError: the file cannot be read.
    """
    try:
        with _opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def external_files(graph: Path) -> set[str]:
    """Return the names of the files in which a graph's tensors are, apart from its own.

    Each is a pair of protobuf whose key is `location`; before the value is its length, 7 bits in each byte.

    Raises:
        BundleError: the file cannot be read.
    """
    try:
        with _opened(graph) as file:
            if not os.fstat(file.fileno()).st_size:  # which cannot be mapped
                return set()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                places = [
                    (match.end(), sum((byte & 0x7F) << 7 * i for i, byte in enumerate(match[1])))
                    for match in _LOCATION.finditer(data)
                ]
                return {
                    data[start : start + length].decode(errors="backslashreplace")
                    for start, length in places
                }
    except (OSError, ValueError) as error:
        raise unreadable(graph, error) from None


def printable(text: str) -> str:
    """Shorten and escape text from a bundle, so that it fits on one line of a log."""
    escaped = text if text.isprintable() else text.encode("unicode_escape").decode()
    return escaped if len(escaped) <= MAX_PRINTABLE else f"{escaped[: MAX_PRINTABLE - 3]}..."


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{key} is duplicated")
    return fields

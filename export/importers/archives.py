"""Archives of models, unpacked beside everything else: nothing climbs out, nothing fills the disk."""

import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from export.importers.imported import SourceError

MAX_MEMBERS = 10_000
MAX_BYTES = 8 << 30
MAX_RATIO, FREE_BYTES = 100, 64 << 20
"""Weights hardly shrink; what is so much larger than its archive was made to fill a disk."""
CHUNK = 1 << 20


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder that a zip archive holds, as long as this lasts; anything else as it is.

    Raises:
        SourceError: it is broken, or holds more, or something else, than a model does.
    """
    if not source.is_file() or not zipfile.is_zipfile(source):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="attendant-import-") as scratch:
        _unpack(source, Path(scratch))
        yield _inner(Path(scratch))


def _unpack(source: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            _check(source, members)
            for member in members:
                if not member.is_dir():
                    _write(archive, member, folder / member.filename)
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, zlib.error) as error:
        raise SourceError(f"{source}: cannot be unpacked, it may be truncated: {error}") from None


def _check(source: Path, members: list[zipfile.ZipInfo]) -> None:
    """By what the archive says of its members; more than a member says is never unpacked."""
    if len(members) > MAX_MEMBERS:
        raise SourceError(
            f"{source}: has {len(members)} files; supported: {MAX_MEMBERS} at the most"
        )
    limit = min(MAX_BYTES, MAX_RATIO * source.stat().st_size + FREE_BYTES)
    size = sum(member.file_size for member in members)
    if size > limit:
        raise SourceError(f"{source}: unpacks to {size} bytes; supported: {limit} at the most")
    for member in members:
        path = PurePosixPath(member.filename)
        if (
            path.is_absolute()
            or ".." in path.parts
            or "\\" in member.filename
            or ":" in path.parts[0]
        ):
            raise SourceError(f"{source}: {member.filename!r} leads out of the archive")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise SourceError(f"{source}: {member.filename!r} is a link; supported: files, folders")
        if member.flag_bits & 1:
            raise SourceError(f"{source}: {member.filename!r} is encrypted")


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as packed, path.open("xb") as file:
        shutil.copyfileobj(packed, file, CHUNK)


def _inner(folder: Path) -> Path:
    """A folder, or the only one that is in it."""
    found = list(folder.iterdir())
    return found[0] if len(found) == 1 and found[0].is_dir() else folder

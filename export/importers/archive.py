"""Archives around a model, unpacked as something that a stranger may have made."""

import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from export.importers.imported import SourceError
from export.importers.settings import shown

MAX_FILES = 1_000
MAX_BYTES = 1 << 33
MAX_GROWTH, ALWAYS_ALLOWED = 20, 1 << 26
"""Weights hardly shrink: what unpacks to more times its size, and to more bytes, is no model."""
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError),
    ValueError,  # names that are no UTF-8, places before the file
)


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder of a model: `source`, or what is in it if it is a zip archive, while the context lasts.

    Raises:
        SourceError: the archive is broken, too large, or would write elsewhere.
    """
    if source.suffix == ".npz" or not (source.is_file() and zipfile.is_zipfile(source)):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="import.") as parent:
        folder = Path(parent) / source.stem
        _unpack(source, folder)
        entries = list(folder.iterdir())
        is_around_folder = len(entries) == 1 and entries[0].is_dir()
        yield entries[0] if is_around_folder else folder


def _unpack(source: Path, folder: Path) -> None:
    folder.mkdir()
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            check_sizes(source, members)
            for member in members:
                _check_name(source, member)
            for member in members:
                path = folder / member.filename
                if member.is_dir():
                    path.mkdir(parents=True, exist_ok=True)
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                # no more than the size that was checked is read, whatever is there
                with archive.open(member) as packed, path.open("xb") as file:
                    shutil.copyfileobj(packed, file)
    except SourceError:
        raise
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error or "it is truncated"
        raise SourceError(f"{source}: cannot be unpacked: {reason}") from None


def check_sizes(source: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Whether a zip file unpacks to something of a sensible size.

    Raises:
        SourceError: it does not.
    """
    if len(members) > MAX_FILES:
        raise SourceError(f"{source}: has {len(members)} files; supported: up to {MAX_FILES}")
    total = sum(member.file_size for member in members)
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_GROWTH * source.stat().st_size))
    if total > limit:
        raise SourceError(f"{source}: unpacks to {total} bytes; supported: up to {limit}")


def _check_name(source: Path, member: zipfile.ZipInfo) -> None:
    """Whether a member is a plain file or folder that stays inside."""
    name = member.filename
    path, kind = PurePosixPath(name), stat.S_IFMT(member.external_attr >> 16)
    is_of_windows = "\\" in name or PureWindowsPath(name).drive
    if not path.parts or path.is_absolute() or ".." in path.parts or is_of_windows:
        raise SourceError(f"{source}: {shown(name)} is outside of the archive's folder")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise SourceError(
            f"{source}: {shown(name)} is a link or a device; supported: files and folders"
        )
    if member.flag_bits & 1:
        raise SourceError(f"{source}: {shown(name)} is encrypted")

"""Unpacking of zip archives, which are not trusted."""

import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from export.importers.imported import SourceError
from export.importers.settings import check_file, shown

ARCHIVES = ".zip", ".argosmodel"
MAX_FILES = 1_000
MAX_BYTES = 1 << 33
MAX_GROWTH, ALWAYS_ALLOWED = 20, 1 << 26
"""Weights hardly compress, so an archive that unpacks to more than `ALWAYS_ALLOWED` bytes and more than
`MAX_GROWTH` times its size is no model."""
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError),
    ValueError,  # names that are not UTF-8, negative offsets
)


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """Unpack a zip archive into a temporary folder; anything else is left as it is.

    Yields:
        The model's folder: `source`, or the unpacked content of the archive.

    Raises:
        SourceError: the archive is broken, too large, or has a member outside its folder.
    """
    if source.suffix == ".npz" or not source.is_file():
        yield source
        return
    check_file(source)
    if not zipfile.is_zipfile(source):
        if source.suffix in ARCHIVES:
            raise SourceError(
                f"{source}: is not a whole zip archive, it may be truncated; download it again"
            )
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
                # reads at most the size that was checked, even if the data are longer
                with archive.open(member) as packed, path.open("xb") as file:
                    shutil.copyfileobj(packed, file)
    except SourceError:
        raise
    except OSError as error:  # of the temporary folder: a full disk, no permission
        place = f"; TMPDIR can name a folder on another disk than {folder.parent}"
        raise SourceError(
            f"{source}: cannot be unpacked: {error.strerror or error}{place}"
        ) from None
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error or "it is truncated"
        raise SourceError(f"{source}: cannot be unpacked: {reason}") from None


def check_sizes(source: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Check that a zip file has a reasonable number of members and unpacked size.

    Raises:
        SourceError: it has too many members, or they are too large.
    """
    if len(members) > MAX_FILES:
        raise SourceError(f"{source}: has {len(members)} files; supported: up to {MAX_FILES}")
    total = sum(member.file_size for member in members)
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_GROWTH * source.stat().st_size))
    if total > limit:
        raise SourceError(f"{source}: unpacks to {total} bytes; supported: up to {limit}")


def _check_name(source: Path, member: zipfile.ZipInfo) -> None:
    """Check that a member is an unencrypted file or folder inside the archive's folder.

    Raises:
        SourceError: it is not.
    """
    name = member.filename
    path, kind = PurePosixPath(name), stat.S_IFMT(member.external_attr >> 16)
    is_windows_path = "\\" in name or PureWindowsPath(name).drive
    if not path.parts or path.is_absolute() or ".." in path.parts or is_windows_path:
        raise SourceError(f"{source}: {shown(name)} is outside of the archive's folder")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise SourceError(
            f"{source}: {shown(name)} is a link or a device; supported: files and folders"
        )
    if member.flag_bits & 1:
        raise SourceError(f"{source}: {shown(name)} is encrypted")

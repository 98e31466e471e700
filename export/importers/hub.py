"""Models by their names on Hugging Face, downloaded by its own library or found in its cache."""

import importlib.util
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from export.importers.imported import SourceError
from service.errors import quoted

NAME = re.compile(r"[\w.-]+/[\w.-]+")
NOT_NEEDED = ["*.h5", "*.msgpack", "*.ot", "*.onnx", "*.onnx_data", "*.gguf"]
"""Files that are not downloaded: the same weights for other libraries."""
CACHED = re.compile(r"models--(?:.+--)?(.+)")
SNAPSHOTS, MAIN = "snapshots", Path("refs", "main")


@contextmanager
def fetched(source: str) -> Iterator[Path]:
    """Provide the model that `source` names: an existing path, or a name on Hugging Face.

    Yields:
        The path; for a download or a folder of the cache, a temporary folder with links to the files.

    Raises:
        SourceError: the model cannot be downloaded, or a folder of the cache is ambiguous.
    """
    path = Path(source)
    if not os.path.lexists(path) and NAME.fullmatch(source):
        snapshot, name = _download(source), path.name
    elif (cached := _in_cache(path)) is not None:
        snapshot, name = cached
    else:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="import.") as parent:
        folder = Path(parent) / name  # named as the model: snapshots are named by their hash
        folder.mkdir()
        for file in snapshot.iterdir():
            (folder / file.name).symlink_to(os.path.realpath(file))
        yield folder


def _in_cache(path: Path) -> tuple[Path, str] | None:
    """Return snapshot and name of a model if the path is its folder or a snapshot in the cache, else None.

    Raises:
        SourceError: there are several snapshots, and `refs/main` does not name one of them.
    """
    absolute = path.absolute()
    if absolute.parent.name == SNAPSHOTS and (match := CACHED.fullmatch(absolute.parents[1].name)):
        return path, match[1]
    match = CACHED.fullmatch(absolute.name)
    if match is None or not (path / SNAPSHOTS).is_dir():
        return None
    snapshots = sorted((path / SNAPSHOTS).iterdir())
    if (path / MAIN).is_file():
        name = (path / MAIN).read_text("utf-8", "replace").strip()
        snapshots = [snapshot for snapshot in snapshots if snapshot.name == name]
        if not snapshots:
            raise SourceError(f"{path / MAIN}: names {quoted(name)}, which is not in {SNAPSHOTS}")
    if len(snapshots) != 1:
        raise SourceError(
            f"{path / SNAPSHOTS}: has {len(snapshots)} versions, and there is no {MAIN} that names one; "
            "supported: the folder of one version"
        )
    return snapshots[0], match[1]


def _download(name: str) -> Path:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise SourceError(
            f"{name}: is not a local file or folder; to download a model of this name from Hugging Face, "
            "huggingface_hub is needed: pip install -e '.[hub]'"
        )
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(name, ignore_patterns=NOT_NEEDED))
    except Exception as error:  # it may raise anything
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise SourceError(
            f"{name}: is not a local file or folder, and cannot be downloaded from Hugging Face: {reason}"
        ) from None

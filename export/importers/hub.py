"""Models by their names at Hugging Face, downloaded with its own library into its cache, or found there."""

import importlib.util
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from export.importers.imported import SourceError
from service.errors import quoted

NAME = re.compile(r"[\w.-]+/[\w.-]+")
NOT_NEEDED = ["*.h5", "*.msgpack", "*.ot", "*.onnx", "*.onnx_data", "*.gguf"]
"""The same weights for other libraries."""
CACHED = re.compile(r"models--(?:.+--)?(.+)")
SNAPSHOTS, MAIN = "snapshots", Path("refs", "main")


@contextmanager
def fetched(source: str) -> Iterator[Path]:
    """What `source` names, while the context lasts: a path that is there, or a download's folder.

    Raises:
        SourceError: it is to be downloaded, and cannot be.
    """
    path = Path(source)
    if not path.exists() and NAME.fullmatch(source):
        snapshot, name = _download(source), path.name
    elif (found := _in_cache(path)) is not None:
        snapshot, name = found
    else:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="import.") as parent:
        folder = Path(parent) / name  # as the cache calls it otherwise
        folder.mkdir()
        for file in snapshot.iterdir():
            (folder / file.name).symlink_to(file.resolve())
        yield folder


def _in_cache(path: Path) -> tuple[Path, str] | None:
    """The files and the name of a model, if the path is its folder in the cache, or a snapshot there.

    Raises:
        SourceError: there are several snapshots, and none is named.
    """
    place = path.absolute()
    if place.parent.name == SNAPSHOTS and (found := CACHED.fullmatch(place.parents[1].name)):
        return path, found[1]
    found = CACHED.fullmatch(place.name)
    if found is None or not (path / SNAPSHOTS).is_dir():
        return None
    snapshots = sorted((path / SNAPSHOTS).iterdir())
    if (path / MAIN).is_file():
        name = (path / MAIN).read_text().strip()
        snapshots = [one for one in snapshots if one.name == name]
        if not snapshots:
            raise SourceError(f"{path / MAIN}: names {quoted(name)}, which is not in {SNAPSHOTS}")
    if len(snapshots) != 1:
        raise SourceError(
            f"{path / SNAPSHOTS}: has {len(snapshots)} versions, and there is no {MAIN} that names one; "
            "supported: the folder of one"
        )
    return snapshots[0], found[1]


def _download(name: str) -> Path:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise SourceError(
            f"{name}: is no file here; to download it by that name from Hugging Face, huggingface_hub is "
            "needed: pip install -e '.[hub]'"
        )
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(name, ignore_patterns=NOT_NEEDED))
    except Exception as error:  # whatever its many layers raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise SourceError(
            f"{name}: is no file here, and cannot be downloaded from Hugging Face: {reason}"
        ) from None

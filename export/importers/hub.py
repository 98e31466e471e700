"""Models by their names at Hugging Face, downloaded with its own library into its own cache."""

import importlib.util
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from export.importers.imported import SourceError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
NOT_NEEDED = ["*.h5", "*.msgpack", "*.ot", "*.onnx", "*.onnx_data", "*.gguf"]
"""The same weights for other libraries."""


@contextmanager
def fetched(source: str) -> Iterator[Path]:
    """What `source` names, while the context lasts: a path that is there, or a download's folder.

    Raises:
        SourceError: it is to be downloaded, and cannot be.
    """
    path = Path(source)
    if path.exists() or not NAME.fullmatch(source):
        yield path
        return
    if importlib.util.find_spec("huggingface_hub") is None:
        raise SourceError(
            f"{source}: is no file here; to download it by that name from Hugging Face, huggingface_hub is "
            "needed: pip install -e '.[hub]'"
        )
    import huggingface_hub

    try:
        cached = Path(huggingface_hub.snapshot_download(source, ignore_patterns=NOT_NEEDED))
    except Exception as error:  # whatever its many layers raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise SourceError(
            f"{source}: is no file here, and cannot be downloaded from Hugging Face: {reason}"
        ) from None
    with tempfile.TemporaryDirectory(prefix="import.") as parent:
        folder = Path(parent) / path.name  # as the cache calls it otherwise
        folder.mkdir()
        for file in cached.iterdir():
            (folder / file.name).symlink_to(file.resolve())
        yield folder

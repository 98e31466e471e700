"""The formats that can be imported, in the order in which they are tried."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from export.importers import (
    argos,
    ctranslate2_folder,
    fairseq,
    hugging_face_marian,
    m2m100,
    marian_npz,
    opennmt_py,
)
from export.importers.imported import Imported, SourceError
from export.importers.settings import read_json, shown


class Format(NamedTuple):
    """A kind of folder or file."""

    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Imported]


FORMATS = [
    Format(module.FORMAT, module.recognises, module.read)
    for module in (
        hugging_face_marian,
        m2m100,
        argos,
        ctranslate2_folder,
        marian_npz,
        fairseq,
        opennmt_py,
    )
]


def format_of(source: Path) -> Format:
    """Find the format of a folder or file.

    Raises:
        SourceError: it is missing, or has none of the formats.
    """
    names = ", ".join(format.name for format in FORMATS)
    if not source.exists():
        problem = "is a link that leads nowhere" if source.is_symlink() else "is missing"
        raise SourceError(f"{source}: {problem}; supported: a folder of {names}")
    for format in FORMATS:
        if format.recognises(source):
            return format
    path = source / "config.json"
    if path.is_file() and (kind := read_json(path).get("model_type")):
        raise SourceError(f"{path}: model_type = {shown(kind)}; supported: {names}")
    raise SourceError(f"{source}: has no known format; supported: {names}")

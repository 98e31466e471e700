"""Which files a run reads and writes, and how the lines of each are taken apart."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from service.bulk.compression import GZIP, ZSTD
from service.bulk.errors import BulkError
from service.bulk.records import Column, Field, Layout, Lines

KINDS = ("txt", "tsv", "jsonl")
LOOKED_AT_BYTES = 1 << 16
"""Of each file, by which a run knows its input again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user says about the lines."""

    kind: str | None = None
    """One of `KINDS`; by default the file's suffix says it."""
    column: int | None = None
    field: str | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """One of the files of a run."""

    source: Path
    part: Path
    """Where its translation is written."""
    suffix: str
    """Of the final name: how that is compressed."""
    layout: Layout
    size: int


def files_of(source: Path, out: Path, part: Path, wanted: Wanted) -> tuple[list[File], list[Path]]:
    """The files of a run in their order, and those of a folder that are left out for their suffix.

    Args:
        source: a file or a folder.
        out: the final name of its translation.
        part: what that is called until all of it is there.
        wanted: how the lines are taken apart.

    Raises:
        BulkError: it is not said how, or a folder has no such file.
        OSError: there is no such file.
    """
    if not source.is_dir():
        layout = layout_of(source, wanted)
        return [File(source, part, out.suffix, layout, source.stat().st_size)], []
    if out.resolve().is_relative_to(source.resolve()):
        raise BulkError(f"{out} lies within {source}: its files would be translated again")
    everything = sorted(path for path in source.rglob("*") if path.is_file())
    chosen = [path for path in everything if wanted.kind or kind_of(path) in KINDS]
    if not chosen:
        raise BulkError(f"{source} has no file whose name ends in .txt, .tsv or .jsonl")
    files = [
        File(
            path,
            part / path.relative_to(source),
            path.suffix,
            layout_of(path, wanted),
            path.stat().st_size,
        )
        for path in chosen
    ]
    return files, [path for path in everything if path not in set(chosen)]


def kind_of(path: Path) -> str:
    """The suffix of a file's name, without that of a compression.

    >>> kind_of(Path("a.txt")), kind_of(Path("b.jsonl.gz")), kind_of(Path("c"))
    ('txt', 'jsonl', '')
    """
    name = path.with_suffix("") if path.suffix in (GZIP, ZSTD) else path
    return name.suffix.removeprefix(".")


def layout_of(path: Path, wanted: Wanted) -> Layout:
    """How the lines of a file are taken apart.

    Raises:
        BulkError: neither its suffix nor the user says it.
    """
    kind = wanted.kind or kind_of(path)
    if kind == "txt":
        return Lines()
    if kind == "tsv":
        if wanted.column is None:
            raise BulkError(f"{path}: --column says which column is translated, from 1")
        return Column(wanted.column, wanted.keep)
    if kind == "jsonl":
        if wanted.field is None:
            raise BulkError(f"{path}: --field says which field is translated")
        return Field(wanted.field, wanted.keep)
    raise BulkError(
        f"{path}: its name does not end in .txt, .tsv or .jsonl: --kind says what its lines are"
    )


def fingerprint(files: list[File]) -> str:
    """Of the files' names, sizes and beginnings: another input has another one."""
    digest = hashlib.sha256()
    for file in files:
        with file.source.open("rb") as content:
            beginning = content.read(LOOKED_AT_BYTES)
        digest.update(f"{file.source.name}\0{file.size}\0".encode())
        digest.update(hashlib.sha256(beginning).digest())
    return digest.hexdigest()[:16]

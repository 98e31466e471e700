"""The files that a run reads and writes, and the layouts of their lines."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from service.bulk.compression import GZIP, ZSTD
from service.bulk.errors import BulkError
from service.bulk.records import Column, Field, Layout, Lines

KINDS = ("txt", "tsv", "jsonl")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The user's options for the layout of lines."""

    kind: str | None = None
    """One of `KINDS`; None for the kind of the file's suffix."""
    column: int | None = None
    field: str | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """One of the files of a run."""

    source: Path
    part: Path
    """The file for the translation during the run."""
    suffix: str
    """Suffix of the translation's final name, which determines the compression."""
    layout: Layout
    size: int


def files_of(
    source: Path, out: Path, part: Path, wanted: Wanted
) -> tuple[list[File], dict[Path, str]]:
    """List the files of a run.

    Args:
        source: a file or a folder.
        out: the final name of its translation.
        part: the name of the translation until it is complete.
        wanted: the user's options for the layout of lines.

    Returns:
        The files in order, and what else is in a folder, with the reasons for which it is skipped.

    Raises:
        BulkError: an option for the layout is missing, or without effect; the folder has no suitable file, or
            `out` is in it; or `source` is a pipe or a device, which cannot be read again to continue a run.
        OSError: there is no such file, or a folder cannot be read.
    """
    if not source.is_dir():
        if source.exists() and not source.is_file():
            raise BulkError(f"{source} is neither a file nor a folder")
        size = source.stat().st_size
        files = [File(source, part, out.suffix, layout_of(source, wanted), size)]
        _check_options(source, files, wanted)
        return files, {}
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(source)):
        raise BulkError(f"{out} lies within {source}: its files would be translated again")
    supported, left_out = [], {}
    for path in _contents(source):
        if not path.is_file():
            left_out[path] = "it is not a file"
        elif wanted.kind or kind_of(path) in KINDS:
            supported.append(path)
        else:
            left_out[path] = "it is not a .txt, .tsv or .jsonl file"
    if not supported:
        raise BulkError(f"{source} has no file whose name ends in .txt, .tsv or .jsonl")
    files = [
        File(
            path,
            part / path.relative_to(source),
            path.suffix,
            layout_of(path, wanted),
            path.stat().st_size,
        )
        for path in supported
    ]
    _check_options(source, files, wanted)
    return files, left_out


def _check_options(source: Path, files: list[File], wanted: Wanted) -> None:
    """Check that each option for the layout has an effect.

    Raises:
        BulkError: one has none.
    """
    kinds = {type(file.layout) for file in files}
    for option, is_given, layouts, kind in (
        ("--column", wanted.column is not None, {Column}, "tsv"),
        ("--field", wanted.field is not None, {Field}, "jsonl"),
        ("--keep", wanted.keep, {Column, Field}, "tsv or jsonl"),
    ):
        if is_given and layouts.isdisjoint(kinds):
            raise BulkError(
                f"{option} has no effect on {source}: it is for lines of the kind {kind}"
            )


def _contents(folder: Path) -> list[Path]:
    """Return all that is in a folder and its subfolders, sorted. Links to folders are not followed.

    Raises:
        OSError: a folder cannot be read.
    """
    found = []
    for parent, subfolders, names in os.walk(folder, onerror=_raise):
        paths = [Path(parent, name) for name in subfolders]
        found += [path for path in paths if path.is_symlink()]
        found += [Path(parent, name) for name in names]
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def kind_of(path: Path) -> str:
    """Return the suffix of a file's name, ignoring that of a compression.

    >>> kind_of(Path("a.txt")), kind_of(Path("b.jsonl.gz")), kind_of(Path("c"))
    ('txt', 'jsonl', '')
    """
    name = path.with_suffix("") if path.suffix in (GZIP, ZSTD) else path
    return name.suffix.removeprefix(".")


def layout_of(path: Path, wanted: Wanted) -> Layout:
    """Return the layout of a file's lines.

    Raises:
        BulkError: the kind is unknown, or the option for the column or field is missing.
    """
    kind = wanted.kind or kind_of(path)
    if kind == "txt":
        return Lines()
    if kind == "tsv":
        if wanted.column is None:
            raise BulkError(
                f"{path}: needs --column, the number of the column to translate, from 1"
            )
        return Column(wanted.column, wanted.keep)
    if kind == "jsonl":
        if wanted.field is None:
            raise BulkError(f"{path}: needs --field, the name of the field to translate")
        return Field(wanted.field, wanted.keep)
    raise BulkError(
        f"{path}: its name does not end in .txt, .tsv or .jsonl: say with --kind what its lines are"
    )


def fingerprint(files: list[File]) -> str:
    """Return a hash of the files' names and contents, which identifies the input."""
    digest = hashlib.sha256()
    for file in files:
        with file.source.open("rb") as content:
            content_digest = hashlib.file_digest(content, "sha256").digest()
        digest.update(os.fsencode(f"{file.source.name}\0{file.size}\0"))
        digest.update(content_digest)
    return digest.hexdigest()[:16]

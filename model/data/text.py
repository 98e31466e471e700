"""Aligned text files of any size, checked line by line.

A data folder has `train.<code>` and `valid.<code>` for every language, or several corpora as
`train.<name>.<code>`. The files are UTF-8 with one sentence per line, and line n of one file translates line
n of the other.
"""

import logging
import mmap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)


class DataError(ValueError):
    """Text that cannot be used. The message names the file and, if possible, the line."""


def iterate_lines(path: Path) -> Iterator[tuple[str, int]]:
    r"""Yield the lines of a UTF-8 file without surrounding whitespace, and the byte offset of each.

    Only \n ends a line.

    Raises:
        DataError: the file cannot be read, is empty, or has a line that is empty or not UTF-8.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    start = number = 0
    with file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}:{number}: not UTF-8: {error.reason} at byte {error.start}"
                ) from None
            if not text:
                raise DataError(
                    f"{path}:{number}: the line is empty; python -m model.clean drops such pairs"
                )
            yield text, start
            start += len(line)
    if not number:
        raise DataError(f"{path}: is empty")


def read_lines(path: Path) -> list[str]:
    """Read all lines of a small file; raises the errors of `iterate_lines`."""
    return [text for text, _ in iterate_lines(path)]


def read_aligned(folder: Path, split: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """Read the lines of `<folder>/<split>.<code>` for every language.

    Raises:
        DataError: a file is unusable, or the files have different numbers of lines.
    """
    text = {code: read_lines(folder / f"{split}.{code}") for code in languages}
    check_aligned({folder / f"{split}.{code}": len(text[code]) for code in languages})
    return text


def check_aligned(counts: dict[Path, int]) -> None:
    """Check that all files have the same number of lines.

    Raises:
        DataError: two files differ; the message names both.
    """
    first, *other_paths = counts
    for path in other_paths:
        if counts[path] != counts[first]:
            raise DataError(f"{path}: has {counts[path]} lines, but {first} has {counts[first]}")


def find_corpora(folder: Path, languages: Sequence[str]) -> dict[str, dict[str, Path]]:
    """Return the training files by corpus and language; the name of the corpus `train.<code>` is "".

    A corpus needs files of at least two of the languages. Others are ignored with a warning.

    Raises:
        DataError: the folder has no such corpus.
    """
    corpora: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("train.*")):
        name, _, code = path.name.removeprefix("train.").rpartition(".")
        if code in languages:
            corpora.setdefault(name, {})[code] = path
    for path in (path for files in corpora.values() if len(files) == 1 for path in files.values()):
        logger.warning("%s: has no file for another language and is ignored", path)
    usable = {name: files for name, files in corpora.items() if len(files) > 1}
    if not usable:
        examples = " and ".join(f"train.{code}" for code in languages[:2])
        raise DataError(f"{folder}: has no training text; {examples} are needed, for example")
    return usable


@contextmanager
def written_whole(targets: Sequence[Path]) -> Iterator[list[TextIO]]:
    """Open files that replace `targets` at the end of the context, unless it ends with an error.

    A target to which nothing was written is removed, because every file that exists counts as a corpus.
    """
    partial = [target.with_name(f".{target.name}.partial") for target in targets]
    try:
        with ExitStack() as stack:
            yield [
                stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
                for path in partial
            ]
        for path, target in zip(partial, targets, strict=True):
            if path.stat().st_size:
                path.replace(target)
            else:
                target.unlink(missing_ok=True)
    finally:
        for path in partial:
            path.unlink(missing_ok=True)


class TextFile:
    """Random access to the lines of a file, which is mapped into memory."""

    def __init__(self, path: Path, starts: NDArray[np.int64]) -> None:
        """`starts` has the byte offset of each line, followed by the size of the file."""
        self.starts = starts
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __getitem__(self, number: int) -> str:
        """Return line `number`, counted from 0, as `iterate_lines` does."""
        return self._bytes[self.starts[number] : self.starts[number + 1]].decode("utf-8").strip()

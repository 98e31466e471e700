"""Aligned text files, checked line by line and read through the page cache, so that they may be of any size.

A data folder holds `train.<code>` and `valid.<code>` for every language, or several corpora as
`train.<name>.<code>`: one sentence a line, UTF-8, line n of one file the translation of line n of the other.
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
    """Text that cannot be used; the message names the file and, where there is one, the line."""


def iterate_lines(path: Path) -> Iterator[tuple[str, int]]:
    r"""The lines of a UTF-8 file without line ends, and the byte that each begins at; only \n ends one.

    Raises:
        DataError: the file is missing, is empty, has an empty line or one that is not UTF-8.
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
                raise DataError(f"{path}:{number}: the line is empty")
            yield text, start
            start += len(line)
    if not number:
        raise DataError(f"{path}: is empty")


def read_lines(path: Path) -> list[str]:
    """All lines of a small file; the errors are those of `iterate_lines`."""
    return [text for text, _ in iterate_lines(path)]


def read_aligned(folder: Path, split: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """The lines of `<folder>/<split>.<code>` for every language.

    Raises:
        DataError: a file is unusable, or the files differ in their number of lines.
    """
    text = {code: read_lines(folder / f"{split}.{code}") for code in languages}
    check_aligned({folder / f"{split}.{code}": len(text[code]) for code in languages})
    return text


def check_aligned(counts: dict[Path, int]) -> None:
    """Refuse files that differ in their number of lines.

    Raises:
        DataError: they do; it names two of them.
    """
    first, *others = counts
    for path in others:
        if counts[path] != counts[first]:
            raise DataError(f"{path}: has {counts[path]} lines, but {first} has {counts[first]}")


def find_corpora(folder: Path, languages: Sequence[str]) -> dict[str, dict[str, Path]]:
    """The training files by corpus and language; the corpus `train.<code>` is called "".

    A corpus needs two of the languages; with several corpora, none needs them all.

    Raises:
        DataError: there is none.
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
        wanted = " and ".join(f"train.{code}" for code in languages[:2])
        raise DataError(f"{folder}: has no training text; {wanted} are needed, for example")
    return usable


@contextmanager
def written_whole(targets: Sequence[Path]) -> Iterator[list[TextIO]]:
    """Files to write into that take the place of `targets` at the end, unless an error ends the block.

    Where nothing was written, no file stands: corpora are found by their files.
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
    """Any line of a file by its number, without the file in memory."""

    def __init__(self, path: Path, starts: NDArray[np.int64]) -> None:
        """`starts` holds the byte that each line begins at, and one more for the end."""
        self.starts = starts
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __getitem__(self, number: int) -> str:
        """Line `number`, from 0 on, as `iterate_lines` gave it."""
        return self._bytes[self.starts[number] : self.starts[number + 1]].decode("utf-8").strip()

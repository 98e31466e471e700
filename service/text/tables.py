"""A bundle's tables: lines of tab-separated cells."""

import functools
import re
from pathlib import Path

from service.errors import BundleError
from service.models.bundle_files import printable, read_text
from service.text.known_words import KnownWords

MAX_LINES = 100_000
MAX_CELL_CHARACTERS = 200
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def read_table(path: Path) -> list[list[str]]:
    """Read the cells of each line.

    Raises:
        BundleError: the file cannot be read, or has too many lines, too long a cell or control characters.
    """
    lines = read_text(path).removeprefix("\ufeff").splitlines()
    if len(lines) > MAX_LINES:
        raise BundleError(f": has {len(lines)} lines, the limit is {MAX_LINES}", path)
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, start=1):
        for cell in row:
            if len(cell) > MAX_CELL_CHARACTERS or _CONTROL.search(cell):
                raise BundleError(
                    f": line {number} has a cell that is too long or has control characters: "
                    f"{printable(cell)}",
                    path,
                )
    return rows


def read_translations(path: Path, source: str, target: str) -> dict[str, str]:
    """Read a table of tab-separated columns: language codes in the first line, names in the others.

    If a name occurs twice, its first line is used. The result is empty if the table lacks one of the
    languages.

    Raises:
        BundleError: the table cannot be read, names a single language or one twice, or has a line with too
            few or too many names.
    """
    [codes, *rows] = read_table(path) or [[]]
    if rows and len(codes) < 2:
        raise BundleError(": line 1 must name two languages or more, separated by tabs", path)
    if len(set(codes)) < len(codes):
        raise BundleError(f": line 1 has a language twice: {printable(' '.join(codes))}", path)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(codes) or not all(map(str.strip, row)):
            raise BundleError(
                f": line {number} must have {len(codes)} names, but has {printable(repr(row))}",
                path,
            )
    if source not in codes or target not in codes:
        return {}
    columns = codes.index(source), codes.index(target)
    return {row[columns[0]]: row[columns[1]] for row in reversed(rows)}


class Tables:
    """The tables in a bundle's folder. A table that all directions share is read once."""

    def __init__(self, folder: Path) -> None:
        """Read no tables yet."""
        self.folder = folder
        self.known_words = functools.cache(lambda name: KnownWords.read(folder / name))
        """Return the known words by language, for the name of a table."""

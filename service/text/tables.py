"""A bundle's tables: lines of cells, separated by tabs."""

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
    """The lines' cells.

    Raises:
        BundleError: it cannot be read, has too many lines, too long a cell or control characters.
    """
    lines = read_text(path).splitlines()
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


class Tables:
    """Where a bundle's rules find their tables; one that is for all directions is read once."""

    def __init__(self, folder: Path) -> None:
        """Read none of them yet."""
        self.folder = folder
        self.known_words = functools.cache(lambda name: KnownWords.read(folder / name))
        """By language, those of a table of this name."""

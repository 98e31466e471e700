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
    """The tables in a bundle's folder. A table that all directions share is read once."""

    def __init__(self, folder: Path) -> None:
        """Read no tables yet."""
        self.folder = folder
        self.known_words = functools.cache(lambda name: KnownWords.read(folder / name))
        """Return the known words by language, for the name of a table."""

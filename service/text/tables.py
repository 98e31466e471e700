"""A bundle's tables: lines of cells, separated by tabs."""

import re
from pathlib import Path

from service.errors import BundleError
from service.models.bundle_files import printable, read_text

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

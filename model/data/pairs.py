"""Reading and writing of corpora in two languages, pair by pair."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from model.data.text import DataError, find_corpora, iterate_lines, written_whole

TextPair = tuple[str, str]
"""A sentence in both languages, or both language codes."""


def find_pairs(data: Path, languages: TextPair) -> dict[str, tuple[Path, Path]]:
    """Return the corpora of a data folder by name, with their files in the order of the languages.

    Raises:
        DataError: the folder has no corpus.
    """
    corpora = find_corpora(data, languages)
    return {name: (files[languages[0]], files[languages[1]]) for name, files in corpora.items()}


def iterate_pairs(paths: tuple[Path, Path]) -> Iterator[TextPair]:
    """Yield the lines of two files as pairs.

    Raises:
        DataError: one file has more lines than the other, or is unusable.
    """
    for number, lines in enumerate(zip_longest(*map(iterate_lines, paths)), start=1):
        if None in lines:
            shorter = paths[lines.index(None)]
            raise DataError(f"{shorter}: ends at line {number - 1}, but the other side continues")
        yield lines[0][0], lines[1][0]


def write_pairs(pairs: Iterable[TextPair], targets: Sequence[Path]) -> int:
    """Write each side to its file, and return the number of pairs."""
    written = 0
    with written_whole(targets) as (first_file, second_file):
        for first, second in pairs:
            written += 1
            first_file.write(f"{first}\n")
            second_file.write(f"{second}\n")
    return written

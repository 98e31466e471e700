"""A translation memory: segments whose translations are known, and which no model has to translate.

It has what models trained on sentences get wrong, because it stands alone: greetings, formulas of letters,
labels, signs. A segment is matched as a whole, but for case, and for marks at its ends.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

from service.errors import BundleError
from service.models.bundle_files import printable
from service.text.languages import NEUTRAL, Language, profile
from service.text.tables import read_table
from service.text.words import words_of

MAX_MARKS = 20
"""Limit for the characters before and after the words of a segment."""


class Entry(NamedTuple):
    """A segment and its translation."""

    source: str
    target: str


class Memory:
    """The entries for one direction."""

    def __init__(self, entries: Iterable[Entry] = (), target: Language = NEUTRAL) -> None:
        """Set the entries, of which the first one for a segment counts, and the target language."""
        self._target = target
        self._as_written: dict[str, Entry] = {}
        self._by_words: dict[str, Entry] = {}
        for entry in entries:
            self._as_written.setdefault(entry.source, entry)
            self._by_words.setdefault(_words(entry.source), entry)
        self._max_characters = max(map(len, self._by_words), default=-MAX_MARKS) + MAX_MARKS

    @classmethod
    def read(cls, path: Path, source: str, target: str) -> Self:
        """Read a table with a column for each language, whose codes are in the first line.

        A line is used in all directions, unless the code of a language follows its last cell: then, it is
        used only for translations into that language. The memory is empty if the table lacks a language.

        Raises:
            BundleError: the table cannot be read, names a single language or one twice, or has a line with
                too few or too many cells.
        """
        [codes, *rows] = read_table(path) or [[]]
        if len(codes) < 2:
            raise BundleError(": line 1 must name two languages or more, separated by tabs", path)
        if len(set(codes)) < len(codes):
            raise BundleError(f": line 1 has a language twice: {printable(' '.join(codes))}", path)
        for number, row in enumerate(rows, start=2):
            is_complete = len(row) == len(codes) or (
                len(row) == len(codes) + 1 and row[-1] in codes
            )
            if not is_complete or not all(words_of(cell)[1] for cell in row):
                raise BundleError(
                    f": line {number} must have {len(codes)} cells with words, and may have the code of "
                    f"a language behind them, but has {printable(repr(row))}",
                    path,
                )
        if source not in codes or target not in codes:
            return cls()
        columns = codes.index(source), codes.index(target)
        return cls(
            (
                Entry(row[columns[0]], row[columns[1]])
                for row in rows
                if row[len(codes) :] in ([], [target])
            ),
            profile(target),
        )

    def find(self, text: str) -> str | None:
        """Return the translation of a segment, in the case of the segment and with its marks, or None.

        An entry that is written as the segment is comes first; the marks are then the entry's own.

        >>> memory = Memory([Entry("cheers", "prost")])
        >>> [memory.find(text) for text in ("Cheers!", "cheers", "CHEERS …", "Cheers, Tom")]
        ['Prost!', 'prost', 'PROST …', None]
        """
        if len(text) > self._max_characters:  # most sentences
            return None
        entry = self._as_written.get(text) or self._by_words.get(_words(text))
        if entry is None:
            return None
        before, words, after = words_of(text)
        own_before, translation, own_after = words_of(entry.target)
        if entry.source == text:
            before, after = own_before, own_after
        if words.isupper() and not entry.source.isupper():
            translation = self._target.upper(translation)
        elif words[0].isupper():
            translation = self._target.capitalized(translation)
        return f"{before}{translation}{after}"


EMPTY = Memory()


def _words(text: str) -> str:
    """Return a segment from its first to its last word, in lower case, with plain spaces and apostrophes."""
    return " ".join(words_of(text)[1].replace("’", "'").casefold().split())

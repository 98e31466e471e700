"""Splits words like subword-nmt and fastBPE: byte-pair encoding over characters, by a list of merges."""

import heapq
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from service.errors import BundleError, quoted
from service.models.bundle_files import read_text

END = "</w>"
"""Follows a word's last character in merges."""
VERSION = "#version:"
CACHED, CACHED_LENGTH = 1 << 14, 32
"""Number of words whose pieces are cached, and the maximum length of each."""


class Bpe:
    """Merges adjacent symbols of a word, in the order in which the merges were learnt.

    Sennrich, Haddow and Birch, 2016, section 3.2.
    """

    def __init__(self, path: Path) -> None:
        """Read a file of merges, two symbols per line; fastBPE adds a count.

        Raises:
            BundleError: the file is invalid.
        """
        lines = read_text(path).removesuffix("\n").split("\n")
        version = lines.pop(0).split()[-1] if lines[0].startswith(VERSION) else ""
        if version not in ("", "0.1", "0.2"):
            raise BundleError(f": has version {quoted(version)}; supported: 0.1, 0.2", path)
        self._ranks: dict[tuple[str, str], int] = {}
        for number, line in enumerate(lines, start=2 if version else 1):
            symbols = line.strip("\r ").split(" ")
            if len(symbols) not in (2, 3) or not all(symbols):
                raise BundleError(f": line {number}: {quoted(line)} is no pair of symbols", path)
            self._ranks.setdefault((symbols[0], symbols[1]), len(self._ranks))
        if not self._ranks:
            raise BundleError(": has no pair of symbols", path)
        # in subword-nmt's first format, which has no version, the end of a word is a separate symbol
        self._ends_apart = version != "0.2" and len(symbols) == 2
        self._kept = lru_cache(CACHED)(self._cut)

    def cut(self, word: str) -> tuple[str, ...]:
        """Return the pieces of a non-empty word, without continuation marks."""
        return self._kept(word) if len(word) <= CACHED_LENGTH else self._cut(word)

    def _cut(self, word: str) -> tuple[str, ...]:
        symbols = [*word, END] if self._ends_apart else [*word[:-1], word[-1] + END]
        merged = list(self._merged(symbols))
        merged[-1] = merged[-1].removesuffix(END)
        return tuple(filter(None, merged))

    def _merged(self, symbols: list[str]) -> Iterator[str]:
        """Apply the merges, each to all its occurrences from left to right, in O(n log n) for n symbols."""
        size = len(symbols)
        previous, following = list(range(-1, size - 1)), list(range(1, size + 1))
        queue: list[tuple[int, int]] = []

        def rank_at(index: int) -> int | None:
            if not symbols[index] or following[index] == size:
                return None
            return self._ranks.get((symbols[index], symbols[following[index]]))

        def note(index: int) -> None:
            if index >= 0 and (rank := rank_at(index)) is not None:
                heapq.heappush(queue, (rank, index))

        for index in range(size):
            note(index)
        while queue:
            rank = queue[0][0]
            indices = []
            while queue and queue[0][0] == rank:
                indices.append(heapq.heappop(queue)[1])
            for index in indices:
                if rank_at(index) == rank:  # neither has been merged with another symbol
                    next_index = following[index]
                    symbols[index], symbols[next_index] = symbols[index] + symbols[next_index], ""
                    following[index] = following[next_index]
                    if following[index] < size:
                        previous[following[index]] = index
                    note(previous[index])
                    note(index)
        return filter(None, symbols)

"""How common a word is in about forty languages; `common_words.md` says where the table comes from."""

import functools
import lzma
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("common_words.txt.xz")
DECADE = 10
"""By how much a word weighs more that is ten times as common; one in a million weighs nothing."""

FREQUENT = 30
"""Weight of a word that is a thousandth of all text."""


@dataclass(frozen=True, slots=True)
class CommonWords:
    """The 5,000 commonest words of each language, in lower case. Never changed: safe in many threads."""

    languages: tuple[str, ...]
    entries: dict[str, bytes]
    """Of a word, pairs of bytes: a language's number, and the word's weight there."""
    frequent: dict[str, list[str]] = field(default_factory=dict)
    """By language, the words that weigh `FREQUENT` or more."""

    def weights(self, words: Iterable[str]) -> tuple[list[int], int]:
        """By language, the sum of all weights; and how many of the words are in the table at all."""
        sums, num_known = [0] * len(self.languages), 0
        for word in words:
            entry = self.entries.get(word)
            if entry:
                num_known += 1
                for at in range(0, len(entry), 2):
                    sums[entry[at]] += entry[at + 1]
        return sums, num_known

    def telling(self, language: str, other: str, lead: int) -> frozenset[str]:
        """The frequent words of one language that weigh by `lead` less in another.

        Raises:
            ValueError: one of the languages has no table.
        """
        words = self.frequent.get(language, ())
        weights = self.weights_in(words, language, other)
        return frozenset(
            word for word, (here, there) in zip(words, weights, strict=True) if here - there >= lead
        )

    def weights_in(self, words: Iterable[str], language: str, other: str) -> list[tuple[int, int]]:
        """Each word's weight in one language, and in another.

        Raises:
            ValueError: one of the languages has no table.
        """
        first, second = self.languages.index(language), self.languages.index(other)
        found = []
        for word in words:
            entry, here, there = self.entries.get(word, b""), 0, 0
            for at in range(0, len(entry), 2):
                if entry[at] == first:
                    here += entry[at + 1]
                elif entry[at] == second:
                    there += entry[at + 1]
            found.append((here, there))
        return found


@functools.cache
def common_words() -> CommonWords:
    """The table, read once: about 0.2 seconds and 20 MiB."""
    numbers: dict[str, int] = {}
    entries: dict[str, bytes] = {}
    frequent: dict[str, list[str]] = {}
    same: dict[bytes, bytes] = {}  # most entries are equal to another: they share their memory
    for line in lzma.decompress(TABLE.read_bytes()).decode().splitlines():
        languages, weight, words = line.split("\t")
        added = b"".join(
            bytes((numbers.setdefault(one, len(numbers)), int(weight)))
            for one in languages.split(",")
        )
        for word in words.split(" "):
            entry = entries.get(word, b"") + added
            entries[word] = same.setdefault(entry, entry)
        if int(weight) >= FREQUENT:
            for one in languages.split(","):
                frequent.setdefault(one, []).extend(words.split(" "))
    return CommonWords(tuple(numbers), entries, frequent)

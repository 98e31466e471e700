"""Word frequencies in about forty languages; `common_words.md` describes the table's origin."""

import functools
import lzma
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("common_words.txt.xz")
DECADE = 10
"""Weights are logarithmic: this much per factor of ten, from 0 for one word in a million."""

FREQUENT = 30
"""Weight of one word in a thousand."""


@dataclass(frozen=True, slots=True)
class CommonWords:
    """The 5,000 most common words of each language, in lower case. Immutable, so safe for threads."""

    languages: tuple[str, ...]
    entries: dict[str, bytes]
    """For each word, pairs of bytes: the index of a language, and the word's weight in it."""
    frequent: dict[str, list[str]] = field(default_factory=dict)
    """By language, the words with a weight of at least `FREQUENT`."""

    def weights(self, words: Iterable[str]) -> tuple[list[int], int]:
        """Return the sum of the words' weights in each language, and how many words are in the table."""
        sums, num_known = [0] * len(self.languages), 0
        for word in words:
            entry = self.entries.get(word)
            if entry:
                num_known += 1
                for index in range(0, len(entry), 2):
                    sums[entry[index]] += entry[index + 1]
        return sums, num_known

    def telling(self, language: str, other: str, lead: int) -> frozenset[str]:
        """Return the frequent words of a language whose weight in another is lower by `lead` or more.

        Raises:
            ValueError: one of the languages has no table.
        """
        words = self.frequent.get(language, ())
        weights = self.weights_in(words, language, other)
        return frozenset(
            word
            for word, (weight, other_weight) in zip(words, weights, strict=True)
            if weight - other_weight >= lead
        )

    def weights_in(self, words: Iterable[str], language: str, other: str) -> list[tuple[int, int]]:
        """Return each word's weights in two languages.

        Raises:
            ValueError: one of the languages has no table.
        """
        number, other_number = self.languages.index(language), self.languages.index(other)
        weights = []
        for word in words:
            entry, weight, other_weight = self.entries.get(word, b""), 0, 0
            for index in range(0, len(entry), 2):
                if entry[index] == number:
                    weight += entry[index + 1]
                elif entry[index] == other_number:
                    other_weight += entry[index + 1]
            weights.append((weight, other_weight))
        return weights


@functools.cache
def common_words() -> CommonWords:
    """Read the table on first use, which takes about 0.2 seconds and 20 MiB."""
    numbers: dict[str, int] = {}
    entries: dict[str, bytes] = {}
    frequent: dict[str, list[str]] = {}
    shared: dict[bytes, bytes] = {}  # equal entries, which are frequent, share memory
    for line in lzma.decompress(TABLE.read_bytes()).decode().splitlines():
        languages, weight, words = line.split("\t")
        added = b"".join(
            bytes((numbers.setdefault(language, len(numbers)), int(weight)))
            for language in languages.split(",")
        )
        for word in words.split(" "):
            entry = entries.get(word, b"") + added
            entries[word] = shared.setdefault(entry, entry)
        if int(weight) >= FREQUENT:
            for language in languages.split(","):
                frequent.setdefault(language, []).extend(words.split(" "))
    return CommonWords(tuple(numbers), entries, frequent)

"""Words that a model can be expected to translate, from a table in its bundle, and their compounds."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np

from service.errors import BundleError
from service.models.bundle_files import printable, read_text
from service.text.languages import profile

MIN_PART, MIN_TELLING_PART, MIN_UNKNOWN_HEAD = 4, 6, 3
"""Minimum letters of a compound's part, of a part that is sufficient by itself, and of what precedes it."""
MIN_MISTYPED, MIN_WITH_EXTRA = 6, 9
"""Minimum letters of a word that may be a mistyped known one, and of one with any letter too many.

Many names are a word and a letter (Hause, Hauske), and few of them are long.
"""
MAX_LETTERS = 40
"""Longer words are never names, so they count as known."""
MAX_PARTS = 3
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"))


class KnownWords:
    """The known words of one language, case-insensitive. Immutable, so safe for threads.

    Only hashes are kept, 8 bytes per word.
    """

    def __init__(
        self,
        words: Iterable[str],
        parts: Iterable[str] = (),
        links: Iterable[str] = (),
        endings: Iterable[str] = ("s", "es"),
    ) -> None:
        """Hash the words.

        Args:
            words: case-folded words; a string may have several, separated by spaces.
            parts: more such words, which may be inflected and be parts of compounds.
            links: what may link two parts of a compound; if empty, the language has no compounds.
            endings: what inflected forms may end with.
        """
        # joined, because one large string is faster than many small ones
        folded = _without_umlauts(" ".join(parts))
        self._letters = _letters(folded)
        self._words = _hashes(_without_umlauts(" ".join(words)).split())
        self._parts = _hashes(folded.split())
        self._links, self._endings = tuple(links), ("", *endings)

    @classmethod
    def read(cls, path: Path) -> dict[str, Self]:
        """Read a table; return the known words by language.

        A line has three cells, separated by tabs: a language code, `word` or `part`, and words.

        Raises:
            BundleError: the file cannot be read, or has an invalid line.
        """
        words_by_language: dict[str, dict[str, list[str]]] = {}
        for number, line in enumerate(read_text(path).splitlines(), start=1):
            code, kind, words = [*line.split("\t", 2), "", ""][:3]
            if kind not in {"word", "part"} or not words:
                raise BundleError(
                    f": line {number} must be a language, 'word' or 'part', and words, "
                    f"separated by tabs, but is {printable(repr(line))}",
                    path,
                )
            words_by_language.setdefault(code, {"word": [], "part": []})[kind].append(words)
        return {
            code: cls(
                kinds["word"],
                kinds["part"],
                profile(code).compound_links,
                profile(code).noun_endings,
            )
            for code, kinds in words_by_language.items()
        }

    def __bool__(self) -> bool:
        """Whether there are any words."""
        return len(self._words) + len(self._parts) > 0

    def __contains__(self, word: str) -> bool:
        """Check whether a word is known, or is a form, a compound or a typo of known words. `ue` equals `ü`.

        >>> known = KnownWords(["siemen"], ["haus", "boot", "führer"], ["", "s"])
        >>> [word in known for word in ("Hauses", "Hausboot", "Fuehrer", "Führerr", "Hausing", "Siemens")]
        [True, True, True, True, False, False]
        """
        return self.knows(word) or self._is_mistyped(_folded(word))

    def knows(self, word: str) -> bool:
        """Check the same, except that a typo of a known word is unknown."""
        word = _folded(word)
        return (
            len(word) > MAX_LETTERS
            or _has(self._words, word)
            or self._is_form(word)
            or self._is_compound(word, MAX_PARTS)
        )

    def _is_compound(self, word: str, parts: int) -> bool:
        """Check whether a word consists of known parts, or has a known part that is long enough."""
        if not self._links or parts < 2:
            return False
        for index in range(MIN_UNKNOWN_HEAD, len(word) - MIN_PART + 1):
            head, tail = word[:index], word[index:]
            is_head, is_tail = self._is_head(head), self._is_form(tail)
            if is_tail and (is_head or len(tail) >= MIN_TELLING_PART):
                return True
            if is_head and (len(head) >= MIN_TELLING_PART or self._is_compound(tail, parts - 1)):
                return True
        return False

    def _is_mistyped(self, word: str) -> bool:
        """Check for a missing, doubled or swapped letter after the first; in long words also an extra one."""
        if len(word) < MIN_MISTYPED or not self._parts:
            return False
        cuts = [(word[:index], word[index:]) for index in range(1, len(word) + 1)]
        any_extra = len(word) >= MIN_WITH_EXTRA
        corrections = [
            head + tail[1:] for head, tail in cuts if any_extra or tail.startswith(head[-1])
        ]
        corrections += [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
        corrections += [head + letter + tail for head, tail in cuts for letter in self._letters]
        # hundreds, which NumPy looks up together
        hashes = np.fromiter(map(hash, corrections), np.int64)
        parts = np.frombuffer(self._parts, np.int64)
        indices = np.searchsorted(parts, hashes).clip(max=len(parts) - 1)
        return bool((parts[indices] == hashes).any())

    def _is_head(self, word: str) -> bool:
        stems = (word.removesuffix(link) for link in self._links if word.endswith(link))
        return any(len(stem) >= MIN_PART and _has(self._parts, stem) for stem in stems)

    def _is_form(self, word: str) -> bool:
        stems = (word.removesuffix(end) for end in self._endings if word.endswith(end))
        return any(len(stem) >= MIN_PART and _has(self._parts, stem) for stem in stems)


def _folded(word: str) -> str:
    return _without_umlauts(word.casefold())


def _without_umlauts(text: str) -> str:
    for umlaut, vowels in _UMLAUTS:
        text = text.replace(umlaut, vowels)
    return text


def _letters(text: str) -> list[str]:
    counts = np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32), minlength=1)
    return [chr(code) for code in np.flatnonzero(counts) if not chr(code).isspace()]


def _hashes(words: Iterable[str]) -> "array[int]":
    hashes = np.fromiter(map(hash, words), np.int64)
    hashes.sort()
    return array("q", hashes.tobytes())


def _has(hashes: "array[int]", word: str) -> bool:
    value = hash(word)
    index = bisect_left(hashes, value)
    return index < len(hashes) and hashes[index] == value

"""Distributes the words of a translation among neighbouring elements."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Stretch:
    """The range of target words that belong to an element."""

    first: int
    last: int
    index: int
    """The place of the element among its neighbours in the source."""
    needs: int = 0
    """Minimum number of words with letters or digits that it must have."""
    is_open: bool = False
    """Whether the element ends in a later sentence."""

    def enclose(self, words: Sequence[int]) -> None:
        """Make it reach from the first to the last of these words, if there are any."""
        if words:
            self.first, self.last = words[0], words[-1] + 1


class Stretches:
    """Separates the stretches of neighbouring elements, which may claim the same words."""

    def __init__(self, words: Iterable[str]) -> None:
        """Set the words of the translation, including its punctuation."""
        self._readable = [index for index, word in enumerate(words) if any(map(str.isalnum, word))]
        """The words with letters or digits."""

    def arrange(self, stretches: Iterable[Stretch], first: int, last: int) -> list[Stretch]:
        """Order the stretches, and change them so that none overlaps another and each has what it needs.

        If there are too few words from `first` to before `last` for that, some have none. Where two claim the
        same words, the one that can do without yields.
        """
        ordered = sorted(
            stretches, key=lambda it: (it.is_open, it.first, it.last, it.needs == 0, it.index)
        )
        _separate(ordered, first)
        self._extend_back(ordered, first, last)
        self._extend(ordered, first, last)
        return ordered

    def _extend_back(self, ordered: Sequence[Stretch], first: int, last: int) -> None:
        """Let stretches that need more words have those before them."""
        for stretch in reversed(ordered):
            stretch.last = min(stretch.last, last)
            stretch.first = min(stretch.first, stretch.last)
            if self._lacks_words(stretch):
                begin, end = self._indices(first, stretch.last)
                stretch.enclose(self._readable[max(begin, end - stretch.needs) : end])
            last = stretch.first

    def _extend(self, ordered: Sequence[Stretch], first: int, last: int) -> None:
        """Let stretches that still need more words have those after them."""
        for stretch in ordered:
            stretch.first = max(stretch.first, first)
            stretch.last = max(stretch.last, stretch.first)
            if self._lacks_words(stretch):
                begin, end = self._indices(stretch.first, last)
                stretch.enclose(self._readable[begin : min(end, begin + stretch.needs)])
            first = stretch.last

    def _lacks_words(self, stretch: Stretch) -> bool:
        begin, end = self._indices(stretch.first, stretch.last)
        return end - begin < stretch.needs

    def _indices(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of indices in `_readable` of the words from `first` to before `last`."""
        return bisect_left(self._readable, first), bisect_left(self._readable, last)


def _separate(ordered: Sequence[Stretch], first: int) -> None:
    """Resolve overlaps: a stretch ends where another one within it begins, or else the later one is cut."""
    previous: Stretch | None = None
    for stretch in ordered:
        if previous is not None and previous.first < stretch.first < stretch.last <= previous.last:
            previous.last = stretch.first
        else:
            stretch.first = max(stretch.first, first)
            stretch.last = max(stretch.last, stretch.first)
        if stretch.first < stretch.last:
            previous = stretch
        first = stretch.last

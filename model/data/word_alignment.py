"""Which word of a pair is whose translation: IBM model 1 in both directions.

Brown et al. (1993), "The Mathematics of Statistical Machine Translation", section 4. It knows nothing but
which words come together how often, which is enough for words that have one translation.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = Sequence[str]
Link = tuple[int, int]
"""A word of the first side, and one of the second, by their places."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ITERATIONS = 6
LEAST = 0.02
"""Of the product of both directions' probabilities: below it, two words are not linked."""


def align(pairs: Sequence[tuple[Words, Words]]) -> list[list[Link]]:
    """For every pair, the words that are each other's likeliest translation; 3 KB of memory a pair."""
    if not pairs:
        return []
    first, second = (_numbered([pair[side] for pair in pairs]) for side in (0, 1))
    lengths = [(len(ids), len(others)) for ids, others in zip(first, second, strict=True)]
    # a cell is a word of the first side beside one of the second
    size = max(int(ids.max(initial=0)) for ids in second) + 1
    cells = [np.add.outer(f * size, s).ravel() for f, s in zip(first, second, strict=True)]
    kinds, kind = np.unique(np.concatenate(cells), return_inverse=True)
    first_place = _places([np.repeat(np.arange(n), m) for n, m in lengths])
    second_place = _places([np.tile(np.arange(m), n) for n, m in lengths])
    product = _translation(kind, kinds // size, second_place)
    product *= _translation(kind, kinds % size, first_place)
    score = product[kind]
    linked = _best(score, first_place) & _best(score, second_place) & (score > LEAST)
    ends = np.cumsum([n * m for n, m in lengths])[:-1]
    return [
        [divmod(int(cell), m) for cell in np.flatnonzero(some)]
        for some, (_, m) in zip(np.split(linked, ends), lengths, strict=True)
    ]


def _translation(kind: Ints, given: Ints, group: Ints) -> Floats:
    """By kind of cell: the probability of one word, given the other.

    Args:
        kind: [cells], which words meet there.
        given: [kinds], the word that the probability is conditioned on.
        group: [cells], the occurrence of the other word: it has one source among the cells of its group.
    """
    table = np.ones(len(given))
    for _ in range(ITERATIONS):
        share = table[kind]
        share /= np.bincount(group, share)[group]
        counts = np.bincount(kind, share, len(given))
        table = counts / np.bincount(given, counts)[given]
    return table


def _best(score: Floats, group: Ints) -> NDArray[np.bool_]:
    """Whether each cell is the best of its group, the first of several."""
    order = np.lexsort((-score, group))
    in_order = group[order]
    best = np.zeros(len(score), bool)
    best[order[np.r_[True, in_order[1:] != in_order[:-1]]]] = True
    return best


def _numbered(side: Sequence[Words]) -> list[Ints]:
    """A number for each word, the same wherever it stands, in capitals or not."""
    known: dict[str, int] = {}
    return [
        np.array([known.setdefault(word.lower(), len(known)) for word in words], np.int64)
        for words in side
    ]


def _places(within: list[Ints]) -> Ints:
    """Places of words in their sentences become places in the whole text; one array for each sentence."""
    sizes = [int(places.max(initial=-1)) + 1 for places in within]
    starts = np.cumsum([0, *sizes])
    return np.concatenate(
        [places + start for places, start in zip(within, starts[:-1], strict=True)]
    )

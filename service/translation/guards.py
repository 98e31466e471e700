"""Guards against runaway translations: signs that a search went wrong, and the choice between two results."""

from collections.abc import Sequence
from operator import eq

from service.engine.types import FinishReason, Hypothesis

LONGEST_PERIOD = 8
"""Length of the longest repeated n-gram that is looked for, in tokens."""
REPETITIONS = 4
"""Number of repetitions in a row that make a loop; for a single token, twice as many."""
NO_REPEAT_NGRAM_SIZE = 3
"""N-gram blocking of the second search."""


def loops(ids: Sequence[int]) -> bool:
    """Check whether an n-gram occurs several times in a row.

    >>> loops([7, 1, 2, 1, 2, 1, 2, 1, 2])
    True
    >>> loops([1, 2, 3, 1, 2, 3])
    False
    """
    # of n tokens that occur k times in a row, (k - 1) n have occurred before
    if len(ids) - len(set(ids)) < 2 * (REPETITIONS - 1):
        return False
    for period in range(1, LONGEST_PERIOD + 1):
        length = period * (2 * REPETITIONS if period == 1 else REPETITIONS)
        # 1 for each token that equals the one a period before
        repeats = bytes(map(eq, ids[period:], ids))
        if b"\1" * (length - period) in repeats:
            return True
    return False


def is_suspect(source_ids: Sequence[int], best: Hypothesis) -> bool:
    """Check whether to search again: the translation is empty, cut off, or loops and the source does not."""
    if not best.ids or best.finish_reason is FinishReason.LENGTH:
        return True
    return loops(best.ids) and not loops(source_ids)


def better(source_ids: Sequence[int], first: list[Hypothesis], second: list[Hypothesis]) -> bool:
    """Check whether the second search's result is to be preferred to the first's."""
    if not second[0].ids:
        return False
    return not is_suspect(source_ids, second[0]) or not first[0].ids or loops(first[0].ids)

"""Guards against runaway translations: signs that a search went wrong, and which of two results is better."""

from collections.abc import Sequence
from operator import eq

from service.engine.types import FinishReason, Hypothesis

LONGEST_PERIOD = 8
"""Tokens of the longest stretch that is looked for again."""
REPETITIONS = 4
"""So many times in a row the same, and it is a loop; single tokens may come twice as often."""
NO_REPEAT_NGRAM_SIZE = 3
"""What a search that looped may not repeat when it is done again."""


def loops(ids: Sequence[int]) -> bool:
    """Whether a stretch of tokens stands several times in a row.

    >>> loops([7, 1, 2, 1, 2, 1, 2, 1, 2])
    True
    >>> loops([1, 2, 3, 1, 2, 3])
    False
    """
    # of a stretch of n tokens that stands k times in a row, (k - 1) n have stood there before
    if len(ids) - len(set(ids)) < 2 * (REPETITIONS - 1):
        return False
    for period in range(1, LONGEST_PERIOD + 1):
        wanted = period * (2 * REPETITIONS if period == 1 else REPETITIONS)
        repeats = bytes(map(eq, ids[period:], ids))  # 1 for each token that stood a period before
        if b"\1" * (wanted - period) in repeats:
            return True
    return False


def is_suspect(source_ids: Sequence[int], best: Hypothesis) -> bool:
    """Whether to search again: nothing was found, or no end, or a loop that the source does not have."""
    if not best.ids or best.finish_reason is FinishReason.LENGTH:
        return True
    return loops(best.ids) and not loops(source_ids)


def better(source_ids: Sequence[int], first: list[Hypothesis], second: list[Hypothesis]) -> bool:
    """Whether the second search's result is to be given out instead of the first's."""
    if not second[0].ids:
        return False
    return not is_suspect(source_ids, second[0]) or not first[0].ids or loops(first[0].ids)

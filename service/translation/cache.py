"""A cache of translated sentences, for user interfaces and feeds that repeat the same ones."""

import math
from collections import OrderedDict
from collections.abc import Callable

from service.engine.types import Hypothesis, Work

TOKENS_A_SENTENCE = 40
"""Tokens of source and hypotheses that count as one sentence; longer ones count as several."""


class SentenceCache:
    """Keeps the sentences that were used last, `capacity` of them if they are short. Not safe for threads."""

    def __init__(self, capacity: int, on_hit: Callable[[], None] = lambda: None) -> None:
        """Start empty; a capacity of 0 switches the cache off."""
        self.capacity, self.on_hit = capacity, on_hit
        self._found: OrderedDict[Work, list[Hypothesis]] = OrderedDict()
        self._size = 0

    def get(self, work: Work) -> list[Hypothesis] | None:
        """Return the hypotheses of a sentence with its options, or None."""
        hypotheses = self._found.get(work) if self._found else None
        if hypotheses is not None:
            self._found.move_to_end(work)
            self.on_hit()
        return hypotheses

    def put(self, work: Work, hypotheses: list[Hypothesis]) -> None:
        """Keep the hypotheses of a sentence; a full cache drops those that were used least recently."""
        if not self.capacity:
            return
        if work in self._found:
            self._size -= _size(work, self._found.pop(work))
        self._found[work] = hypotheses
        self._size += _size(work, hypotheses)
        while self._size > self.capacity:
            self._size -= _size(*self._found.popitem(last=False))


def _size(work: Work, hypotheses: list[Hypothesis]) -> int:
    """Return how many short sentences take as much memory."""
    source_ids, _ = work
    tokens = len(source_ids) + sum(len(hypothesis.ids) for hypothesis in hypotheses)
    return math.ceil(tokens / TOKENS_A_SENTENCE)

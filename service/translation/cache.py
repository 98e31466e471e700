"""A cache of translated sentences, for user interfaces and feeds that repeat the same ones."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from service.engine.types import Hypothesis


class SentenceCache:
    """Keeps the `capacity` sentences that were used last. Not safe for threads."""

    def __init__(self, capacity: int, on_hit: Callable[[], None] = lambda: None) -> None:
        """Start empty; a capacity of 0 switches the cache off."""
        self.capacity, self.on_hit = capacity, on_hit
        self._found: OrderedDict[Hashable, list[Hypothesis]] = OrderedDict()

    def get(self, key: Hashable) -> list[Hypothesis] | None:
        """Return the hypotheses of a sentence, or None; `key` is all that they depend on: ids and options."""
        hypotheses = self._found.get(key) if self._found else None
        if hypotheses is not None:
            self._found.move_to_end(key)
            self.on_hit()
        return hypotheses

    def put(self, key: Hashable, hypotheses: list[Hypothesis]) -> None:
        """Keep the hypotheses of a sentence; a full cache drops those that were used least recently."""
        if self.capacity:
            self._found[key] = hypotheses
            self._found.move_to_end(key)
            if len(self._found) > self.capacity:
                self._found.popitem(last=False)

"""A cache of translated sentences: user interfaces and feeds repeat the same ones.

It is bounded, and off by default. It is used only from the event loop's thread.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from service.engine.types import Hypothesis


class SentenceCache:
    """The sentences asked for last, up to `capacity` of them."""

    def __init__(self, capacity: int, on_hit: Callable[[], None] = lambda: None) -> None:
        """Start empty; a capacity of 0 keeps nothing."""
        self.capacity, self.on_hit = capacity, on_hit
        self._found: OrderedDict[Hashable, list[Hypothesis]] = OrderedDict()

    def get(self, asked: Hashable) -> list[Hypothesis] | None:
        """What was found for `asked`: source ids and options, all that the answer depends on."""
        found = self._found.get(asked) if self._found else None
        if found is not None:
            self._found.move_to_end(asked)
            self.on_hit()
        return found

    def put(self, asked: Hashable, found: list[Hypothesis]) -> None:
        """Keep it, in the place of what was asked for longest ago."""
        if self.capacity:
            self._found[asked] = found
            self._found.move_to_end(asked)
            if len(self._found) > self.capacity:
                self._found.popitem(last=False)

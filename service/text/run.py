"""A run: a stretch of text without a block in it, its inline tags and what is protected apart."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

PROTECTED = "\ufffc"
"""What stands in a run's text for what comes through untouched (OBJECT REPLACEMENT CHARACTER)."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, and where in the plain text of its run it stands."""

    at: int
    raw: str
    kind: Literal["open", "close", "void"]


@dataclass(slots=True)
class Run:
    """Text without a block in it, its inline tags apart."""

    text: str = ""
    tags: list[Tag] = field(default_factory=list)
    protected: list[tuple[int, int, str]] = field(default_factory=list)
    """Stretches of `text` that come through untouched, and what they are in the input."""

    def between_tags(
        self, find: Callable[[str, int, int], Iterator[re.Match[str]]]
    ) -> Iterator[re.Match[str]]:
        """What `find` finds in the text, from one place to another, with no tag within."""
        edges = [0, *(tag.at for tag in self.tags), len(self.text)]
        return (match for edge in pairwise(edges) for match in find(self.text, *edge))

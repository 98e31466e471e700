"""Ids in the order of this project: padding, unknown, beginning and end first, the others as they were.

So search, graphs and engine need not know what a format calls them, or that it begins with padding.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Arrangement:
    """Which of a format's ids each id of the bundle is; None is no token, and has no probability."""

    order: tuple[int | None, ...]
    start: int | None
    """The format's id that a translation begins with; its vector, under an id of its own, is that of BOS.

    None where a translation begins with a vector of zeros.
    """

    @classmethod
    def of(
        cls, size: int, pad: int | None, unk: int, eos: int | None, start: int | None
    ) -> "Arrangement":
        """Put `size` ids into the bundle's order; what is None has no id of the format's."""
        special = {pad, unk, eos}
        others = (id for id in range(size) if id not in special)
        return cls((pad, unk, None, eos, *others), start)

    def padded(self, size: int) -> "Arrangement":
        """With ids of no tokens behind it."""
        return Arrangement((*self.order, *[None] * (size - len(self.order))), self.start)

    @cached_property
    def place(self) -> dict[int, int]:
        """The bundle's id of each of the format's."""
        return {old: new for new, old in enumerate(self.order) if old is not None}

    def to_bundle(self, ids: Iterable[int]) -> list[int]:
        """The format's ids as the bundle's."""
        return [self.place[id] for id in ids]

    def to_format(self, ids: Iterable[int]) -> list[int]:
        """The bundle's ids as the format's; BOS is what it begins with, if that is a token."""
        found = (self.order[id] for id in ids)
        return [self._first if id is None else id for id in found]

    @property
    def _first(self) -> int:
        return 0 if self.start is None else self.start

    def table(self, rows: Tensor) -> Tensor:
        """Embeddings [V', d] in the bundle's order, [V, d]."""
        taken = rows[torch.tensor(self.to_format(range(len(self.order))))]
        kept = 0 if self.start is None else 4
        taken[kept:][torch.tensor([id is None for id in self.order[kept:]], dtype=torch.bool)] = 0
        return taken

    def bias(self, values: Tensor) -> Tensor:
        """What is added to the logits [V'], in the bundle's order; -inf where there is no token."""
        missing = torch.tensor([id is None for id in self.order])
        taken = values[torch.tensor(self.to_format(range(len(self.order))))]
        return taken.masked_fill(missing, -torch.inf)

    def pieces(self, ids: Mapping[str, int]) -> list[str | None]:
        """The piece of each of the bundle's ids, by the format's ids of pieces."""
        by_id = {id: piece for piece, id in ids.items()}
        special: list[str | None] = ["<pad>", "<unk>", None, "</s>"]
        return special + [None if id is None else by_id.get(id) for id in self.order[4:]]

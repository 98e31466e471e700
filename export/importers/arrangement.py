"""Token ids in the order of bundles: PAD, UNK, BOS and EOS first, then the others in their old order.

So search, graphs and engine do not depend on a format's special tokens.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Arrangement:
    """The mapping between a format's token ids and the bundle's."""

    order: tuple[int | None, ...]
    """The format's id of each of the bundle's ids; None for ids of no token, which get no probability."""
    start: int | None
    """The format's id that a translation begins with: BOS gets its vector.

    None if a translation begins with a vector of zeros.
    """

    @classmethod
    def of(
        cls, size: int, pad: int | None, unk: int, eos: int | None, start: int | None
    ) -> "Arrangement":
        """Arrange `size` ids in the bundle's order; None means that the format has no such token."""
        special = {pad, unk, eos}
        others = (id for id in range(size) if id not in special)
        return cls((pad, unk, None, eos, *others), start)

    def padded(self, size: int) -> "Arrangement":
        """Return the arrangement extended to `size` ids by ids of no tokens."""
        return Arrangement((*self.order, *[None] * (size - len(self.order))), self.start)

    @cached_property
    def place(self) -> dict[int, int]:
        """The bundle's ids by the format's ids."""
        return {
            format_id: bundle_id
            for bundle_id, format_id in enumerate(self.order)
            if format_id is not None
        }

    def to_bundle(self, ids: Iterable[int]) -> list[int]:
        """Convert the format's ids to the bundle's."""
        return [self.place[id] for id in ids]

    def to_format(self, ids: Iterable[int]) -> list[int]:
        """Convert the bundle's ids to the format's; BOS becomes `start`."""
        format_ids = (self.order[id] for id in ids)
        return [self._first if id is None else id for id in format_ids]

    @property
    def _first(self) -> int:
        return 0 if self.start is None else self.start

    def table(self, rows: Tensor) -> Tensor:
        """Rearrange embeddings [V', d] in the bundle's order: [V, d]; ids of no token get zeros."""
        table = rows[torch.tensor(self.to_format(range(len(self.order))))]
        first_checked = 0 if self.start is None else 4
        table[first_checked:][
            torch.tensor([id is None for id in self.order[first_checked:]], dtype=torch.bool)
        ] = 0
        return table

    def bias(self, values: Tensor) -> Tensor:
        """Rearrange a bias of the logits [V'] in the bundle's order: [V]; ids of no token get -inf."""
        missing = torch.tensor([id is None for id in self.order])
        arranged = values[torch.tensor(self.to_format(range(len(self.order))))]
        return arranged.masked_fill(missing, -torch.inf)

    def pieces(self, ids: Mapping[str, int]) -> list[str | None]:
        """Return the piece of each of the bundle's ids; `ids` are the format's ids by piece."""
        by_id = {id: piece for piece, id in ids.items()}
        special: list[str | None] = ["<pad>", "<unk>", None, "</s>"]
        return special + [None if id is None else by_id.get(id) for id in self.order[4:]]

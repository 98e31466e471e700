"""Tables of embeddings whose values tell which of them are one."""

from typing import Literal

import torch
from torch import Tensor

from export.importers.imported import Side


def tables_of(
    sides: tuple[Side, Side], read: Tensor, written: Tensor, output: Tensor
) -> tuple[Literal["shared", "target", "separate"], dict[str, Tensor]]:
    """What the network's configuration calls them, and they, in the bundle's order of ids.

    Args:
        sides: the vocabularies of source and target.
        read: embeddings of the source, in the format's order: [V, d_model].
        written: those of the target.
        output: the projection.
    """
    source, target = (side.arrangement for side in sides)
    weights = {"embedding.weight": target.table(written)}
    is_tied = torch.equal(written, output)
    if is_tied and source.order == target.order and torch.equal(read, written):
        return "shared", weights
    weights["source_embedding.weight"] = source.table(read)
    if is_tied:
        return "target", weights
    return "separate", weights | {"projection.weight": target.table(output)}

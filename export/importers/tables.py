"""Detection of shared embedding tables by their values."""

from typing import Literal

import torch
from torch import Tensor

from export.importers.imported import Side


def tables_of(
    sides: tuple[Side, Side], read: Tensor, written: Tensor, output: Tensor
) -> tuple[Literal["shared", "target", "separate"], dict[str, Tensor]]:
    """Find out which tables are the same, and rearrange them in the bundle's order of ids.

    Args:
        sides: the vocabularies of source and target.
        read: the source's embeddings, in the format's order: [V, d_model].
        written: the target's embeddings.
        output: the projection's weight.

    Returns:
        The `embeddings` of the network's configuration, and the tables as its parameters.
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

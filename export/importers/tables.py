"""Detection of shared embedding tables by their values."""

from typing import Literal

import torch
from torch import Tensor

from export.importers.imported import Side


def tables_of(
    sides: tuple[Side, Side], source_table: Tensor, target_table: Tensor, output_table: Tensor
) -> tuple[Literal["shared", "target", "separate"], dict[str, Tensor]]:
    """Find out which tables are the same, and rearrange them in the bundle's order of ids.

    Args:
        sides: the vocabularies of source and target.
        source_table: the source's embeddings, in the format's order: [V, d_model].
        target_table: the target's embeddings.
        output_table: the projection's weight.

    Returns:
        The `embeddings` of the network's configuration, and the tables as its parameters.
    """
    source, target = (side.arrangement for side in sides)
    weights = {"embedding.weight": target.table(target_table)}
    is_tied = torch.equal(target_table, output_table)
    if is_tied and source.order == target.order and torch.equal(source_table, target_table):
        return "shared", weights
    weights["source_embedding.weight"] = source.table(source_table)
    if is_tied:
        return "target", weights
    return "separate", weights | {"projection.weight": target.table(output_table)}

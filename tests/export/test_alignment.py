"""The choice of alignment heads, by attention whose best heads are known."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from export.alignment import AlignmentHead, choose_heads
from model.data.corpus import Pair
from model.tokenizer import EOS_ID
from model.transformer import Transformer

LAYERS, HEADS, TAG, FIRST = 2, 3, 9, 10
SHARED = 5
"""Number of pieces that both sides of a pair have exactly once."""


class Attending(Transformer):
    """A network without weights whose heads are `right` for a part of the target, else wrong.

    The sources have the target's pieces in reverse order, between a tag and EOS.
    """

    def __init__(self, right: dict[AlignmentHead, range]) -> None:
        torch.nn.Module.__init__(self)
        self.right = right
        self.config: Any = SimpleNamespace(num_decoder_layers=LAYERS, num_heads=HEADS)

    def attention_maps(self, source: torch.Tensor, target: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return weights [1, H, T, S]."""
        maps = {}
        for layer in range(LAYERS):
            weights = torch.zeros(1, HEADS, target.shape[1], source.shape[1])
            weights[..., 0] = 0.5  # on the tag, which does not count
            weights[..., 1:] = 0.1
            for (where, head, shift), places in self.right.items():
                for place in places if where == layer else ():
                    weights[0, head, place + shift, SHARED - place] = 1.0
            maps[f"decoder.{layer}.cross"] = weights
        return maps


def pairs(count: int) -> list[Pair]:
    """Make pairs whose target is the source in reverse order."""
    ids = list(range(FIRST, FIRST + SHARED))
    pair = Pair(np.array([TAG, *reversed(ids), EOS_ID]), np.array([*ids, EOS_ID]))
    return [pair] * count


def pieces() -> tuple[Any, Any]:
    """Return the pieces of both sides by id."""
    return str, str


@pytest.mark.parametrize("best", [AlignmentHead(0, 2, 0), AlignmentHead(1, 0, 1)])
def test_the_head_that_aligns_all_shared_tokens_is_chosen(best: AlignmentHead) -> None:
    network = Attending({best: range(SHARED), AlignmentHead(1, 1, 0): range(3)})
    assert choose_heads(network, pairs(4), pieces()) == ([best], 1.0)


def test_heads_that_complement_one_another_are_chosen_together() -> None:
    first, second = AlignmentHead(0, 1, 0), AlignmentHead(1, 2, 1)
    network = Attending({first: range(3), second: range(3, SHARED)})
    assert choose_heads(network, pairs(4), pieces()) == ([first, second], 1.0)


def test_too_few_shared_tokens_give_no_share() -> None:
    network = Attending({AlignmentHead(0, 2, 0): range(SHARED)})
    chosen, share = choose_heads(network, pairs(3), pieces())
    assert (chosen, share) == ([AlignmentHead(0, 2, 0)], 0.0)

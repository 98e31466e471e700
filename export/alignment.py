"""The choice of the cross-attention heads that are best used as a word alignment.

Attention in general is no alignment, but a few heads come close to one. They are chosen by how often they
lead from a token to the same token in the source: tokens that both sides have exactly once, such as names,
numbers and punctuation marks, must belong together. A head may align a token where it is predicted, or one
step later, where it is the decoder's input (Chen et al., 2020, "Accurate Word Alignment Induction from Neural
Machine Translation").
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from export.material import PieceLookups
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer

MAX_HEADS = 4
MIN_SHARED = 20
"""Minimum number of shared tokens for a meaningful choice."""


class AlignmentHead(NamedTuple):
    """One head of the decoder's cross-attention."""

    layer: int
    head: int
    shift: int
    """0: use the attention where the token is predicted; 1: where it is the decoder's input."""


def choose_heads(
    network: Transformer,
    pairs: Sequence[Pair],
    pieces: PieceLookups,
    before: int = 1,
    after: int = 1,
) -> tuple[list[AlignmentHead], float]:
    """Choose the heads whose mean aligns best.

    The choice is greedy: the best head, then the one that improves the mean most, as long as any does.

    Args:
        network: the network in torch.
        pairs: held-out pairs.
        pieces: the pieces of source and target by id.
        before: number of tokens before the sources' pieces.
        after: number of tokens after the sources' pieces.

    Returns:
        The heads, and the share of shared tokens that their mean aligns with each other; 0 if there are
        fewer than `MIN_SHARED` of them.
    """
    around = before, after
    attention = (_attention_to_shared(network, pair, pieces, around) for pair in pairs)
    attended = [
        weights_and_positions for weights_and_positions in attention if weights_and_positions
    ]
    sizes = network.config
    candidates = [
        AlignmentHead(layer, head, shift)
        for layer in range(sizes.num_decoder_layers)
        for head in range(sizes.num_heads)
        for shift in (0, 1)
    ]
    heads: list[AlignmentHead] = []
    best = 0.0
    while len(heads) < MAX_HEADS:
        scores = {
            head: _score(attended, [*heads, head], around)
            for head in candidates
            if head not in heads
        }
        best_head = max(scores, key=lambda head: scores[head])
        if heads and scores[best_head] <= best:
            break
        heads.append(best_head)
        best = scores[best_head]
    num_shared = sum(len(tokens) for _, tokens in attended)
    return heads, best if num_shared >= MIN_SHARED else 0.0


_Seen = tuple[dict[AlignmentHead, np.ndarray], list[tuple[int, int]]]


def _attention_to_shared(
    network: Transformer, pair: Pair, pieces: PieceLookups, around: tuple[int, int]
) -> _Seen | None:
    """Return each head's weights [T, S] and the positions (target, source) of the shared tokens.

    Shared tokens are those that both sides have exactly once; None if there are none.
    """
    source, target = pair.source.tolist(), pair.target.tolist()
    if target[-1] == EOS_ID:
        target = target[:-1]
    source_pieces, target_pieces = (
        list(map(piece, ids)) for piece, ids in zip(pieces, (source, target), strict=True)
    )
    inner = source_pieces[around[0] : len(source) - around[1]]
    on_source, on_target = Counter(inner), Counter(target_pieces)
    shared = [piece for piece in target_pieces if on_target[piece] == 1 and on_source[piece] == 1]
    if not shared:
        return None
    with torch.no_grad():
        attention = network.attention_maps(
            torch.tensor([source]), torch.tensor([[BOS_ID, *target]])
        )
    weights = {}
    for layer in range(network.config.num_decoder_layers):
        for head, weights_of_heads in enumerate(attention[f"decoder.{layer}.cross"][0].numpy()):
            for shift in (0, 1):
                alignment_head = AlignmentHead(layer, head, shift)
                weights[alignment_head] = weights_of_heads[shift : shift + len(target)]
    return weights, [(target_pieces.index(piece), source_pieces.index(piece)) for piece in shared]


def _score(seen: Sequence[_Seen], heads: Sequence[AlignmentHead], around: tuple[int, int]) -> float:
    """Return the share of the shared tokens that the mean of `heads` aligns correctly."""
    right = total = 0
    for weights, positions in seen:
        mean = sum(weights[head] for head in heads)
        assert isinstance(mean, np.ndarray)
        before, after = around
        inner = mean[:, before : mean.shape[1] - after]  # tags and EOS are not translated
        right += sum(int(inner[t].argmax()) + before == s for t, s in positions)
        total += len(positions)
    return right / total if total else 0.0

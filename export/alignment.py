"""Which heads of the decoder's cross-attention come near to an alignment.

Attention is no alignment as such; a few heads come near to one. They are chosen by how often they lead from a
token to the same token on the other side (names, numbers, marks: what both sides have once must belong
together). A head may align a token where it is predicted, or one step later, where it is the decoder's input
(Chen et al., 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from export.material import Pieces
from model.data.corpus import Pair
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer

MAX_HEADS = 4
MIN_SHARED = 20
"""Tokens by which heads can be told apart."""


class AlignmentHead(NamedTuple):
    """One head of the decoder's cross-attention."""

    layer: int
    head: int
    shift: int
    """0: read where the token is predicted; 1: where it is the decoder's input."""


def choose_heads(
    network: Transformer,
    pairs: Sequence[Pair],
    pieces: Pieces,
    before: int = 1,
    behind: int = 1,
) -> tuple[list[AlignmentHead], float]:
    """The heads whose mean aligns best, and the share of shared tokens that it aligns with themselves.

    Of fewer than `MIN_SHARED` such tokens, chance would choose: then the share is 0.
    Greedy: the best head, then the one that adds most to it, while any does. `before` tokens stand in front
    of the sources' pieces, and `behind` behind them.
    """
    around = before, behind
    seen = [found for pair in pairs if (found := _shared(network, pair, pieces, around))]
    sizes = network.config
    every = [
        AlignmentHead(layer, head, shift)
        for layer in range(sizes.num_decoder_layers)
        for head in range(sizes.num_heads)
        for shift in (0, 1)
    ]
    chosen: list[AlignmentHead] = []
    best = 0.0
    while len(chosen) < MAX_HEADS:
        scores = {one: _score(seen, [*chosen, one], around) for one in every if one not in chosen}
        candidate = max(scores, key=lambda one: scores[one])
        if chosen and scores[candidate] <= best:
            break
        chosen.append(candidate)
        best = scores[candidate]
    shared = sum(len(places) for _, places in seen)
    return chosen, best if shared >= MIN_SHARED else 0.0


_Seen = tuple[dict[AlignmentHead, np.ndarray], list[tuple[int, int]]]


def _shared(
    network: Transformer, pair: Pair, pieces: Pieces, around: tuple[int, int]
) -> _Seen | None:
    """Each head's weights [T, S], and the places of what both sides have exactly once."""
    source, target = pair.source.tolist(), pair.target.tolist()
    if target[-1] == EOS_ID:
        target = target[:-1]
    source_pieces, target_pieces = (
        list(map(piece, ids)) for piece, ids in zip(pieces, (source, target), strict=True)
    )
    inner = source_pieces[around[0] : len(source) - around[1]]
    on_source, on_target = Counter(inner), Counter(target_pieces)
    once = [piece for piece in target_pieces if on_target[piece] == 1 and on_source[piece] == 1]
    if not once:
        return None
    with torch.no_grad():
        maps = network.attention_maps(torch.tensor([source]), torch.tensor([[BOS_ID, *target]]))
    weights = {}
    for layer in range(network.config.num_decoder_layers):
        for head, one in enumerate(maps[f"decoder.{layer}.cross"][0].numpy()):
            for shift in (0, 1):
                place = AlignmentHead(layer, head, shift)
                weights[place] = one[shift : shift + len(target)]
    return weights, [(target_pieces.index(piece), source_pieces.index(piece)) for piece in once]


def _score(seen: Sequence[_Seen], heads: Sequence[AlignmentHead], around: tuple[int, int]) -> float:
    """How many of the shared tokens are aligned with themselves, of all there are."""
    right = total = 0
    for weights, places in seen:
        mean = sum(weights[head] for head in heads)
        assert isinstance(mean, np.ndarray)
        before, behind = around
        inner = mean[:, before : mean.shape[1] - behind]  # neither is anybody's translation
        right += sum(int(inner[t].argmax()) + before == s for t, s in places)
        total += len(places)
    return right / total if total else 0.0

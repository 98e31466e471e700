"""The choice of alignment heads."""

import numpy as np

from export.alignment import choose_heads
from model.checkpoint import Checkpoint
from model.data.corpus import Pair
from model.tokenizer import EOS_ID
from tests import toy


def test_between_one_and_four_heads_are_chosen(checkpoint: Checkpoint) -> None:
    tokenizer, pairs = checkpoint.vocabularies.source, []
    for german, english in toy.sentences()[::7]:
        source = [tokenizer.tag_id("en"), *tokenizer.encode([german])[0], EOS_ID]
        pairs.append(Pair(np.array(source), np.array([*tokenizer.encode([english])[0], EOS_ID])))
    chosen, share = choose_heads(checkpoint.network(), pairs, checkpoint.vocabularies.pieces)
    assert 1 <= len(chosen) <= 4
    assert len(set(chosen)) == len(chosen)
    assert 0 < share <= 1

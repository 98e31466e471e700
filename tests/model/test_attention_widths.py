"""Attention widths agree with the weights they are computed from."""

import math

import pytest

from model import bundle
from model.data.corpus import encode_pairs
from model.evaluate import attention_widths
from tests import toy
from tests.conftest import TINY_BUNDLE


def test_uniform_heads_are_as_wide_as_the_sentences_and_saturated_heads_are_1_wide() -> None:
    checkpoint = bundle.load(TINY_BUNDLE)
    chosen = toy.sentences()[::40]
    text = {"de": [pair[0] for pair in chosen], "en": [pair[1] for pair in chosen]}
    pairs = encode_pairs(text, checkpoint.config.data, checkpoint.vocabularies)
    network = checkpoint.network()
    weights = network.state_dict()
    weights["encoder.0.self_attention.w_q.weight"].zero_()
    weights["encoder.0.self_attention.w_q.bias"].zero_()
    weights["decoder.0.cross_attention.w_q.weight"].mul_(1e5)
    widths = attention_widths(network, pairs, max_pairs=len(pairs))
    sizes = checkpoint.config.model
    assert len(widths) == sizes.num_encoder_layers + 2 * sizes.num_decoder_layers
    assert {len(heads) for heads in widths.values()} == {sizes.num_heads}
    lengths = [len(pair.source) for pair in pairs]
    expected = math.exp(sum(n * math.log(n) for n in lengths) / sum(lengths))
    assert widths["encoder.0.self"] == pytest.approx([expected] * sizes.num_heads, rel=1e-4)
    assert widths["decoder.0.cross"] == pytest.approx([1.0] * sizes.num_heads, abs=0.02)

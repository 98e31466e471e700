"""Calibration records the whole input of every linear layer."""

import numpy as np
import pytest
from torch import nn

from export.quantize import calibrate
from model.checkpoint import Checkpoint
from model.data.batches import Batch, batches_of
from model.data.corpus import encode_pairs
from tests import toy


@pytest.fixture
def batches(checkpoint: Checkpoint) -> list[Batch]:
    pairs = toy.sentences()[::15]
    text = {"de": [pair[0] for pair in pairs], "en": [pair[1] for pair in pairs]}
    encoded = encode_pairs(text, checkpoint.config.data, checkpoint.vocabularies)
    return list(batches_of(encoded, batch_tokens=200))


def test_every_linear_layer_and_the_projection_have_a_range(
    checkpoint: Checkpoint, batches: list[Batch]
) -> None:
    network = checkpoint.network()
    ranges = calibrate(network, batches)
    linear = {name for name, module in network.named_modules() if isinstance(module, nn.Linear)}
    assert ranges.keys() == {*linear, "projection"}
    for name, seen in ranges.items():
        assert seen.low < seen.high, name
        if name.endswith("w_2"):
            assert seen.low == 0, "the input is an output of ReLU"
        if name.endswith("w_q") and "self" in name:
            assert seen == ranges[name[:-1] + "k"] == ranges[name[:-1] + "v"], "they share an input"


def test_the_range_of_a_normalized_input_is_within_the_bound_of_its_norm(
    checkpoint: Checkpoint, batches: list[Batch]
) -> None:
    """No element of a normalized vector of d elements exceeds sqrt(d - 1), before scale and bias."""
    ranges = calibrate(checkpoint.network(), batches)
    scale, bias = (
        np.abs(checkpoint.weights[f"encoder.0.norm_1.{kind}"].numpy())
        for kind in ("weight", "bias")
    )
    most = float((scale * np.sqrt(len(scale) - 1) + bias).max())
    seen = ranges["encoder.0.feed_forward.w_1"]
    assert -most <= seen.low < 0 < seen.high <= most


def test_more_text_only_widens_the_ranges(checkpoint: Checkpoint, batches: list[Batch]) -> None:
    network = checkpoint.network()
    few, more = calibrate(network, batches[:1]), calibrate(network, batches)
    assert all(more[name].low <= few[name].low for name in few)
    assert all(more[name].high >= few[name].high for name in few)
    assert few != more
    with pytest.raises(ValueError, match="at least one batch"):
        calibrate(network, [])

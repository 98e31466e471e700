"""Calibration for int8: the range of each linear layer's input on real text.

The scales are static, so the translation of a sentence does not depend on the others in its batch.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from export.int8 import ActivationRange
from model.data.batches import Batch
from model.transformer import Transformer

KEPT_INPUTS = 64
"""Inputs recorded per layer."""
KEPT_A_BATCH = 8
"""Inputs recorded per layer and batch, at most."""


@torch.inference_mode()
def calibrate(network: Transformer, batches: Iterable[Batch]) -> dict[str, ActivationRange]:
    """Record the range and examples of every linear layer's input.

    The range is the plain minimum and maximum, so no value seen in calibration is clipped. This works well
    for both pre-norm and post-norm networks.

    Returns:
        The ranges by module name; `projection` is the pre-softmax layer.

    Raises:
        ValueError: there are no batches.
    """
    ranges: dict[str, ActivationRange] = {}

    def observe(name: str, x: Tensor) -> None:
        low, high, rows = float(x.min()), float(x.max()), x.flatten(0, -2)
        inputs = rows[:: -(-len(rows) // KEPT_A_BATCH)].numpy().copy()
        if name in ranges:
            low, high = min(low, ranges[name].low), max(high, ranges[name].high)
            inputs = np.concatenate((ranges[name].inputs, inputs))[:KEPT_INPUTS]
        ranges[name] = ActivationRange(low, high, inputs)

    handles = [
        module.register_forward_pre_hook(lambda _, inputs, name=name: observe(name, inputs[0]))
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear)
    ]
    try:
        for batch in batches:
            memory = network.encode(batch.source)
            observe("projection", network.decode(batch.target_in, memory, batch.source))
    finally:
        for handle in handles:
            handle.remove()
    if not ranges:
        raise ValueError("calibration needs at least one batch of text")
    return ranges

"""Calibration for int8: what values each linear layer's input takes on real text.

The scales are static, so the translation of a sentence cannot depend on its neighbours in a batch.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from export.int8 import ActivationRange
from model.data.batches import Batch
from model.transformer import Transformer

KEPT_INPUTS = 64
"""Of each layer."""
KEPT_A_BATCH = 8


@torch.inference_mode()
def calibrate(network: Transformer, batches: Iterable[Batch]) -> dict[str, ActivationRange]:
    """Range and examples of every linear layer's input, by module name; `projection` is the pre-softmax one.

    The plain minimum and maximum serve well, in pre-norm and post-norm networks: nothing is clipped that
    calibration saw.
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

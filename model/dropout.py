"""Dropout (section 5.4), drawn on a CPU sixteen bits an element instead of a float.

torch draws every element of a CPU's mask one by one, which was 28 % of a training step of the preset
`multi30k` on two cores in bf16; four elements of one 64-bit draw take an eighth of that.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RESOLUTION = 1 << 16
"""A rate is rounded to a multiple of its inverse; outputs are scaled by the rounded one."""


class Dropout(nn.Module):
    """Zeroes each element with probability `rate` while training, and scales the others by 1 / (1 - rate)."""

    def __init__(self, rate: float) -> None:
        """Keep the rate, in [0, 1)."""
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Same shape and type as x; what is drawn depends on torch's seed alone."""
        if not self.training or not self.rate:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        dropped: Tensor = _CpuDropout.apply(x, round(self.rate * RESOLUTION))  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """The rate, for the printed network."""
        return f"rate={self.rate}"


def _mask(shape: torch.Size, threshold: int) -> Tensor:
    """One byte an element: 0 with probability threshold / RESOLUTION, else 1."""
    size = shape.numel()
    bits = torch.empty((size + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    drawn = bits.view(torch.int16)[:size].view(shape)
    return (drawn >= threshold - RESOLUTION // 2).view(torch.uint8)


class _CpuDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        ctx.scale = RESOLUTION / (RESOLUTION - threshold)
        mask = _mask(x.shape, threshold)
        ctx.save_for_backward(mask)
        return (x * mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (output_gradients[0] * mask).mul_(ctx.scale), None

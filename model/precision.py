"""The choice of the number format for matrix products in training."""

import statistics
import time

import torch

PROBES = 15
WORTHWHILE = 1.3
"""Minimum speed-up of products for using bf16; other operations stay in fp32, and conversion takes time."""


def choose_precision(precision: str, device: torch.device) -> torch.dtype:
    """Return the type named `precision`; for "auto", bf16 if it is faster on this device, otherwise fp32."""
    if precision == "fp32":
        return torch.float32
    if precision == "bf16":
        return torch.bfloat16
    is_faster = (
        torch.cuda.is_bf16_supported() if device.type == "cuda" else bf16_speedup() > WORTHWHILE
    )
    return torch.bfloat16 if is_faster else torch.float32


def bf16_speedup() -> float:
    """Measure how many times faster this CPU multiplies in bf16 than in fp32, on a small layer.

    A CPU's features do not predict this: of two machines with bf16 instructions but without tiles (AMX), one
    ran bf16 at half the speed of fp32, and the other at two to seven times the speed.
    """
    seconds: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    for _ in range(PROBES):
        for dtype, durations in seconds.items():
            x, weight = torch.ones(1024, 256, dtype=dtype), torch.ones(1024, 256, dtype=dtype)
            start = time.perf_counter()
            x @ weight.T
            durations.append(time.perf_counter() - start)
    return statistics.median(seconds[torch.float32]) / statistics.median(seconds[torch.bfloat16])

"""Which number format training multiplies in."""

import statistics
import time

import torch

PROBES = 15
WORTHWHILE = 1.3
"""How many times faster bf16 must be: all around the products stays in fp32, and converting costs."""


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """bf16 where it is the faster of the two, if `wanted` is "auto"; else what is wanted."""
    if wanted == "fp32":
        return torch.float32
    if wanted == "bf16":
        return torch.bfloat16
    faster = (
        torch.cuda.is_bf16_supported() if device.type == "cuda" else bf16_speedup() > WORTHWHILE
    )
    return torch.bfloat16 if faster else torch.float32


def bf16_speedup() -> float:
    """How many times faster this CPU multiplies in bf16 than in fp32, measured on a small layer.

    What a CPU can do does not tell it: with the instructions for bf16 but without tiles (AMX), one machine
    ran it at half the speed of fp32 and another at twice to seven times.
    """
    seconds: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    for _ in range(PROBES):
        for dtype, taken in seconds.items():
            x, weight = torch.ones(1024, 256, dtype=dtype), torch.ones(1024, 256, dtype=dtype)
            start = time.perf_counter()
            x @ weight.T
            taken.append(time.perf_counter() - start)
    return statistics.median(seconds[torch.float32]) / statistics.median(seconds[torch.bfloat16])

"""What the machine's processor can do."""

import platform
from pathlib import Path

import pytest


def has_exact_int8() -> bool:
    """Whether int8 products are exact: on x86 without VNNI, ONNX Runtime adds two of them in 16 bits.

    Random weights overflow there; those of trained networks hardly do.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    path = Path("/proc/cpuinfo")
    return path.exists() and "vnni" in path.read_text()


needs_exact_int8 = pytest.mark.skipif(
    not has_exact_int8(), reason="int8 products of random weights overflow without VNNI"
)

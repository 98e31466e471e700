"""Freed memory is kept, by the system's count of page faults."""

import subprocess
import sys

import pytest

FAULTS = """
import resource, torch
from model.memory import keep_freed_memory

def faults():
    for _ in range(30):
        torch.ones(2**23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**23)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults(), keep_freed_memory(), faults())
"""


def test_freed_memory_is_reused_with_glibc() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    before, supported, after = done.stdout.split()
    if supported != "True":
        pytest.skip("not glibc")
    assert int(after) < 100 < int(before)

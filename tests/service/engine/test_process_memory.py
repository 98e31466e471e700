"""How many heaps malloc has, by its own report."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="malloc is not that of glibc"
)

REPORT = """
import ctypes, sys, threading
from service.engine.process_memory import configure_malloc

if sys.argv[1] == "configured":
    configure_malloc(2)
libc, every = ctypes.CDLL("libc.so.6"), threading.Barrier(12)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.fdopen.restype, libc.malloc_info.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]

def allocate():
    every.wait()
    libc.malloc(100_000)
    every.wait()  # none ends, and leaves its heap to another, before all have one

threads = [threading.Thread(target=allocate) for _ in range(every.parties)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(ctypes.c_void_p(out))
"""


def heaps(argument: str, **environment: str) -> int:
    """Of a process in which twelve threads allocate at once."""
    report = subprocess.run(
        [sys.executable, "-c", REPORT, argument],
        env={key: value for key, value in os.environ.items() if key != "MALLOC_ARENA_MAX"}
        | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    return report.count("<heap nr=")


def test_there_is_a_heap_a_core_and_two_for_the_other_threads() -> None:
    assert heaps("configured") == 4


def test_by_itself_malloc_has_more_of_them() -> None:
    assert heaps("as it is") > 4


def test_a_number_in_the_environment_counts() -> None:
    assert heaps("configured", MALLOC_ARENA_MAX="2") == 2

"""Malloc's heaps, by its own report, and the memory of the process, by the system's."""

import os
import platform
import subprocess
import sys

import pytest

from service.engine.process_memory import RestingTrimmer

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
    """Count the heaps of a process in which twelve threads allocate at once."""
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


def test_malloc_has_one_heap_per_core_and_two_more() -> None:
    assert heaps("configured") == 4


def test_malloc_has_more_heaps_by_default() -> None:
    assert heaps("as it is") > 4


def test_malloc_arena_max_takes_precedence() -> None:
    assert heaps("configured", MALLOC_ARENA_MAX="2") == 2


FREED = """
from service.engine.process_memory import RestingTrimmer, configure_malloc, resident_bytes

configure_malloc(2)
blocks = [bytearray(1 << 20) for _ in range(200)]
most = resident_bytes()
del blocks[::2]  # those between them keep the heap from becoming shorter
trimmer = RestingTrimmer()
for _ in range(2):
    left = resident_bytes()
    print(trimmer.is_due(), (most - left) >> 20)
    trimmer.trim()
"""


def test_freed_memory_is_returned_when_the_process_rests() -> None:
    report = subprocess.run(
        [sys.executable, "-c", FREED], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    (was_due, kept), (is_due, returned) = (line.split() for line in report.splitlines())
    assert (was_due, is_due) == ("True", "False")
    assert int(kept) < 10
    assert int(returned) > 90


def test_memory_is_not_returned_during_work() -> None:
    used, resident = 0.0, 100 << 20
    trimmer = RestingTrimmer(lambda: resident, lambda: used)
    trimmer.trim()
    resident += 50 << 20
    for used in (0.5, 1.0, 1.01):
        assert trimmer.is_due() == (used == 1.01)


def test_memory_is_returned_also_after_a_peak_that_was_in_use() -> None:
    sizes = iter(mib << 20 for mib in (800, 800, 200, 700))
    trimmer = RestingTrimmer(lambda: next(sizes), lambda: 0.0)
    trimmer.trim()
    assert [trimmer.is_due() for _ in range(3)] == [False, False, True]

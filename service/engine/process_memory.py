"""The memory of the process, and how malloc returns it to the system. Imports nothing from the project."""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

LARGE_BYTES = 4 << 20
"""Blocks of this size are mapped separately, and returned when freed; typical batches need smaller ones."""
KEPT_BYTES = 64 << 20
"""Free bytes at the end of the heap, beyond which they are returned."""
GROWN_BYTES = 16 << 20
"""Growth of the process since memory was last returned, beyond which it is returned again."""
RESTING_SECONDS = 0.05
"""CPU time between two checks, a second or more apart, up to which the process counts as resting."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's malloc.h


def resident_bytes() -> int | None:
    """Return the resident memory of the process; None on systems other than Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def configure_malloc(cores: int) -> None:
    """Make glibc's malloc keep less freed memory; has no effect with other C libraries.

    Large blocks are always mapped separately. By default, glibc raises that threshold when such a block is
    freed, puts the next one on a heap, and reloads of models then fragment the heap. The number of heaps is
    limited to one per core and two more. By default, there are eight per core, and each keeps as much memory
    as its threads ever used. `MALLOC_ARENA_MAX` in the environment takes precedence.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        if "MALLOC_ARENA_MAX" not in os.environ:
            libc.mallopt(_M_ARENA_MAX, cores + 2)


def trim() -> None:
    """Make glibc's malloc return all free memory to the system."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


class RestingTrimmer:
    """Trims when the process rests: it takes some 30 ms, for which threads may have to wait.

    Otherwise, malloc keeps most of what requests have freed, except large blocks and the end of the heap.
    """

    def __init__(
        self,
        resident: Callable[[], int | None] = resident_bytes,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        """Begin; `resident` returns the memory of the process, `cpu_seconds` the time that it has used."""
        self._resident, self._cpu_seconds = resident, cpu_seconds
        self._used_before = cpu_seconds()
        self._kept = 0  # the least bytes since the last time

    def is_due(self) -> bool:
        """Return whether to `trim`; to be called about once a second."""
        before, self._used_before = self._used_before, self._cpu_seconds()
        is_resting, resident = self._used_before - before <= RESTING_SECONDS, self._resident() or 0
        self._kept = min(self._kept, resident)
        return is_resting and resident >= self._kept + GROWN_BYTES

    def trim(self) -> None:
        """Return freed memory to the system."""
        trim()
        self._kept = self._resident() or 0


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return libc if hasattr(libc, "malloc_trim") else None

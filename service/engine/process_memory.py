"""The memory of the process, and how it returns what is free. Imports nothing of the project."""

import ctypes
import os
import sys
from pathlib import Path

LARGE_BYTES = 4 << 20
"""So large a piece is mapped by itself, and goes back when it is freed; everyday ones are smaller."""
KEPT_BYTES = 64 << 20
"""Free at the end of the heap, beyond which it is given back."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's malloc.h


def resident_bytes() -> int | None:
    """Physical memory that the process has; None where the system does not tell as Linux does."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def configure_malloc(cores: int) -> None:
    """Have malloc keep less of what is freed, where it is glibc's.

    Large pieces are put beside its heaps. By itself it does so at first only: what is freed teaches it to put
    the next one of that size on a heap, and a heap is full of holes once models of another generation were
    there. There is a heap for each core's thread, and two for the others; by itself it has eight a core, and
    each keeps holes as large as what its threads once had. `MALLOC_ARENA_MAX` in the environment counts
    instead.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        if "MALLOC_ARENA_MAX" not in os.environ:
            libc.mallopt(_M_ARENA_MAX, cores + 2)


def trim() -> None:
    """Have malloc give back what it keeps for later, where it is glibc's."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return libc if hasattr(libc, "malloc_trim") else None

"""Memory that is free within the process goes back to the system. Imports nothing of the project."""

import ctypes
import sys


def trim() -> None:
    """Have the C library give back what it keeps for later, where it is glibc."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return

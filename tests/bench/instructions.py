"""Counts of a thread's user instructions by the processor, which hardly depend on other load."""

import ctypes
import os
import platform
import struct

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_HARDWARE, _INSTRUCTIONS = 0, 1
_WITHOUT_KERNEL_AND_HYPERVISOR = 0b11 << 5
_LIBC = ctypes.PyDLL(None)
"""The C library, whose functions keep Python's lock here: reading a count changes no thread's turn."""
_SIZE = 112
"""The size of `struct perf_event_attr`; see perf_event_open(2)."""


class InstructionCounter:
    """Counts the user instructions of one thread."""

    def __init__(self, thread: int) -> None:
        """Start counting.

        Raises:
            OSError: the system does not count instructions, or does not allow this user to.
        """
        number = _PERF_EVENT_OPEN.get(platform.machine())
        if number is None:
            raise OSError(f"instructions cannot be counted on {platform.machine()}")
        fields = struct.pack(
            "IIQQQQQ", _HARDWARE, _SIZE, _INSTRUCTIONS, 0, 0, 0, _WITHOUT_KERNEL_AND_HYPERVISOR
        )
        attributes = ctypes.create_string_buffer(fields, _SIZE)
        any_core = no_group = ctypes.c_int(-1)
        libc = ctypes.CDLL(None, use_errno=True)
        self._file: int = libc.syscall(number, attributes, thread, any_core, no_group, 0)
        if self._file < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    def read(self) -> int:
        """Return the count so far."""
        count = ctypes.c_longlong()
        _LIBC.read(self._file, ctypes.byref(count), 8)
        return count.value

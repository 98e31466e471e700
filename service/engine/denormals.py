"""Denormal numbers are set to zero: they are too small for the processor's fast path.

For a masked attention score, ONNX Runtime's exp gives 1e-45 instead of 0, so every padded position would
put such a number into the product with the values, and attention would take 1.4 times as long.
"""

import ctypes
import platform

_CONTROL_WORDS = {  # machine: (place of the control word in C's fenv_t, bits that flush to zero)
    "x86_64": (28, 0x8040),
    "aarch64": (0, 1 << 24),
}


def flush_denormals() -> None:
    """Have the calling thread, and no other, take denormal numbers for 0, where this is known how."""
    if platform.system() != "Linux" or platform.machine() not in _CONTROL_WORDS:
        return
    try:
        libm = ctypes.CDLL("libm.so.6")
    except OSError:  # another C library
        return
    place, bits = _CONTROL_WORDS[platform.machine()]
    environment = ctypes.create_string_buffer(64)
    libm.fegetenv(environment)
    word = ctypes.c_uint32.from_buffer(environment, place)
    word.value |= bits
    libm.fesetenv(environment)

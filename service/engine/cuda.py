"""What NVIDIA's driver says about the device, read through ctypes. Imports nothing from the project.

ONNX Runtime lists its CUDA provider wherever it is installed, so whether a run can work is asked here.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

_DRIVERS = {12: 525, 13: 580}
"""The oldest driver for Linux that runs programs of each CUDA version."""
_CAPABILITIES = {12: (5, 0), 13: (7, 5)}
"""The oldest architecture for which each CUDA version compiles."""
_MAJOR, _MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h."""


class CudaUnusableError(Exception):
    """CUDA cannot be used; the message says why.

    `is_absent` tells whether there is simply no driver or device, as on most machines.
    """

    def __init__(self, message: str, *, is_absent: bool = False) -> None:
        """Keep both."""
        super().__init__(message)
        self.is_absent = is_absent


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """The first device that the driver shows; `CUDA_VISIBLE_DEVICES` chooses another."""

    name: str
    """As the driver calls it, for example NVIDIA L4."""
    cuda: tuple[int, int]
    """The newest CUDA version that the driver supports."""
    capability: tuple[int, int]
    """The compute capability."""
    memory_bytes: int
    """All of the device's memory."""


def first_device(built_for: str, driver: Any = None) -> CudaDevice:
    """Return the device that ONNX Runtime will use.

    Args:
        built_for: the CUDA version that ONNX Runtime was built for, for example 13.0; "" if for none.
        driver: the driver's library, libcuda.so.1 by default.

    Raises:
        CudaUnusableError: there is no driver or no device, or one of them is too old.
    """
    if not built_for:
        raise CudaUnusableError(
            "the installed onnxruntime is built for CPUs only; install onnxruntime-gpu"
        )
    major = int(built_for.partition(".")[0])
    try:
        driver = driver or ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise CudaUnusableError(
            "there is no NVIDIA driver (libcuda.so.1)", is_absent=True
        ) from None
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    cuda = version.value // 1000, version.value % 1000 // 10
    if cuda[0] < major:
        needed = f" (driver {_DRIVERS[major]} or newer)" if major in _DRIVERS else ""
        raise CudaUnusableError(
            f"the NVIDIA driver supports CUDA {_dotted(cuda)}, and onnxruntime is built for "
            f"CUDA {built_for}: update the driver{needed}"
        )
    if (code := driver.cuInit(0)) or (code := driver.cuDeviceGetCount(ctypes.byref(count))):
        raise CudaUnusableError(
            f"the NVIDIA driver finds no device (CUDA error {code})", is_absent=True
        )
    if not count.value:
        raise CudaUnusableError("the NVIDIA driver finds no device", is_absent=True)
    device = _described(driver, cuda)
    if device.capability < (oldest := _CAPABILITIES.get(major, (0, 0))):
        raise CudaUnusableError(
            f"{device.name} has compute capability {_dotted(device.capability)}, and CUDA {built_for} needs "
            f"{_dotted(oldest)}"
        )
    return device


def _described(driver: Any, cuda: tuple[int, int]) -> CudaDevice:
    handle, name, memory = ctypes.c_int(0), ctypes.create_string_buffer(256), ctypes.c_size_t(0)
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGet(ctypes.byref(handle), 0)
    driver.cuDeviceGetName(name, len(name), handle)
    driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, handle)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    return CudaDevice(
        name.value.decode(errors="replace"), cuda, (major.value, minor.value), memory.value
    )


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

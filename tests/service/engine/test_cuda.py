"""What is said of NVIDIA's driver and device; a Python object stands for the driver's library."""

from typing import Any

import pytest

from service.engine.cuda import CudaDevice, CudaUnusableError, first_device


class Driver:
    """The functions of libcuda.so.1 that are called."""

    def __init__(
        self,
        version: int = 13000,
        count: int = 1,
        capability: tuple[int, int] = (9, 0),
        init: int = 0,
    ) -> None:
        self.version, self.count, self.capability, self.init = version, count, capability, init

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = self.version
        return 0

    def cuInit(self, flags: int) -> int:
        return self.init

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.count
        return 0

    def cuDeviceGet(self, handle: Any, ordinal: int) -> int:
        handle._obj.value = ordinal
        return 0

    def cuDeviceGetName(self, name: Any, length: int, handle: Any) -> int:
        name.value = b"NVIDIA H100"
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, handle: Any) -> int:
        value._obj.value = self.capability[{75: 0, 76: 1}[attribute]]
        return 0

    def cuDeviceTotalMem_v2(self, size: Any, handle: Any) -> int:
        size._obj.value = 80 << 30
        return 0


def test_the_first_device_is_described() -> None:
    expected = CudaDevice("NVIDIA H100", (13, 0), (9, 0), 80 << 30)
    assert first_device("13.0", Driver()) == expected


@pytest.mark.parametrize(
    ("driver", "built_for", "message", "is_absent"),
    [
        (Driver(), "", "built for CPUs only; install onnxruntime-gpu", False),
        (
            Driver(version=12040),
            "13.0",
            r"supports CUDA 12\.4, and onnxruntime is built for CUDA 13\.0: .*driver 580 or newer",
            False,
        ),
        (Driver(count=0), "13.0", "finds no device", True),
        (Driver(init=100), "13.0", r"finds no device \(CUDA error 100\)", True),
        (
            Driver(capability=(6, 1)),
            "13.0",
            r"NVIDIA H100 has compute capability 6\.1, and CUDA 13\.0 needs 7\.5",
            False,
        ),
    ],
)
def test_what_cannot_be_used_is_said(
    driver: Driver, built_for: str, message: str, is_absent: bool
) -> None:
    with pytest.raises(CudaUnusableError, match=message) as raised:
        first_device(built_for, driver)
    assert raised.value.is_absent == is_absent


def test_a_newer_driver_serves_an_older_onnxruntime() -> None:
    assert first_device("12.8", Driver(version=13010, capability=(7, 0))).cuda == (13, 1)

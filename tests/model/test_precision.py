"""bf16 is chosen if it is measured to be faster, and an explicit choice is respected."""

import pytest
import torch

from model import precision
from model.precision import bf16_speedup, choose_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("speedup", "expected"), [(2.3, torch.bfloat16), (1.1, torch.float32), (0.5, torch.float32)]
)
def test_a_cpu_trains_in_bf16_only_if_that_is_much_faster(
    monkeypatch: pytest.MonkeyPatch, speedup: float, expected: torch.dtype
) -> None:
    monkeypatch.setattr(precision, "bf16_speedup", lambda: speedup)
    assert choose_precision("auto", CPU) == expected


def test_a_given_precision_is_used_without_a_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "bf16_speedup", lambda: pytest.fail("measured"))
    assert choose_precision("fp32", CPU) == torch.float32
    assert choose_precision("bf16", CPU) == torch.bfloat16


def test_the_speedup_is_the_ratio_of_measured_times(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    durations = {torch.float32: 3, torch.bfloat16: 1}
    dtypes: list[torch.dtype] = []

    def ones(*shape: int, dtype: torch.dtype) -> torch.Tensor:
        dtypes.append(dtype)
        return torch.zeros(1, 1, dtype=dtype)

    def perf_counter() -> float:
        for _ in range(durations[dtypes[-1]] - 1):
            next(clock)
        return float(next(clock))

    monkeypatch.setattr("model.precision.torch.ones", ones)
    monkeypatch.setattr("model.precision.time.perf_counter", perf_counter)
    assert bf16_speedup() == 3.0

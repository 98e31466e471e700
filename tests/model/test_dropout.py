"""Dropout: its rate, independence, scale and gradient."""

import math

import pytest
import torch

from model.dropout import Dropout


def dropped(rate: float, x: torch.Tensor, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    layer = Dropout(rate).train()
    result: torch.Tensor = layer(x)
    return result


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_elements_are_zeroed_at_the_rate_and_the_others_scaled(rate: float) -> None:
    size = 1_000_000
    result = dropped(rate, torch.full((size,), 2.0))
    kept = result[result != 0]
    deviation = math.sqrt(size * rate * (1 - rate))
    assert abs(size - len(kept) - size * rate) < 5 * deviation
    torch.testing.assert_close(kept, torch.full_like(kept, 2 / (1 - rate)), rtol=2e-4, atol=0)


def test_neighbours_are_dropped_independently_of_each_other() -> None:
    """Four elements share a random number; each must be dropped at the same rate whatever the others are."""
    zero = (dropped(0.3, torch.ones(400_000, 4)) == 0).double()
    torch.testing.assert_close(zero.mean(0), torch.full((4,), 0.3).double(), rtol=0, atol=4e-3)
    torch.testing.assert_close(
        torch.corrcoef(zero.T), torch.eye(4, dtype=torch.double), rtol=0, atol=8e-3
    )


def test_the_gradient_is_dropped_and_scaled_like_the_value() -> None:
    x = torch.randn(7, 3, requires_grad=True)
    result = dropped(0.4, x)
    result.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x, result)
    assert 0 < int((x.grad == 0).sum()) < x.numel()


def test_the_seed_determines_which_elements_are_dropped() -> None:
    x = torch.ones(5, 13)
    assert torch.equal(dropped(0.5, x), dropped(0.5, x))
    assert not torch.equal(dropped(0.5, x), dropped(0.5, x, seed=2))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3, 5), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shape_and_dtype_are_preserved(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    result = dropped(0.5, torch.ones(shape, dtype=dtype))
    assert (result.shape, result.dtype) == (shape, dtype)
    assert set(result.flatten().tolist()) <= {0.0, 2.0}


def test_nothing_is_dropped_outside_training_or_at_rate_zero() -> None:
    x = torch.randn(4, 4)
    assert Dropout(0.5).eval()(x) is x
    assert dropped(0.0, x) is x

"""Muon (Jordan et al., 2024): an optimizer that updates matrices by their orthogonalized momentum.

torch's own class always computes in bf16. On a CPU without bf16 instructions, that takes ten times as long as
the rest of an update. This class computes in the precision of the run and saves the same state.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
STEPS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic polynomial that moves all singular values close to 1 in five steps (Jordan et al., 2024)."""


class Muon(torch.optim.Optimizer):
    """Orthogonalized Nesterov momentum, scaled to the step size of Adam (Liu et al., 2025, equation 4)."""

    def __init__(self, groups: Iterable[dict[str, Any]], precision: torch.dtype) -> None:
        """Optimize `groups` of matrices; `precision` is the type in which they are orthogonalized."""
        super().__init__(groups, {"lr": 0.0})
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._move(matrix, group["lr"])

    def _move(self, matrix: nn.Parameter, rate: float) -> None:
        gradient = matrix.grad
        assert gradient is not None
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum = state["momentum_buffer"].lerp_(gradient, 1 - MOMENTUM)
        direction = orthogonalize(gradient.lerp(momentum, MOMENTUM).to(self.precision))
        matrix.add_(direction, alpha=-0.2 * rate * max(matrix.shape) ** 0.5)


def orthogonalize(matrix: Tensor) -> Tensor:
    """Approximate U V^T of a matrix U S V^T by Newton-Schulz steps; singular values become 0.7 to 1.2."""
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if is_tall else matrix
    x = x / x.norm().clamp(min=1e-7)  # makes all singular values at most 1
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x

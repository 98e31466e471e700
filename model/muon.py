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
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault(matrix.shape, []).append(matrix)
            for matrices in by_shape.values():
                self._move(matrices, group["lr"])

    def _move(self, matrices: list[nn.Parameter], rate: float) -> None:
        """Update matrices of one shape together.

        On a GPU, starting a small product takes longer than computing it.
        """
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        momenta = [self._momentum(matrix) for matrix in matrices]
        for momentum, gradient in zip(momenta, gradients, strict=True):
            momentum.lerp_(gradient, 1 - MOMENTUM)
        ahead = torch.stack(gradients).lerp_(torch.stack(momenta), MOMENTUM)
        directions = orthogonalize(ahead.to(self.precision))
        scale = -0.2 * rate * max(matrices[0].shape) ** 0.5
        for matrix, direction in zip(matrices, directions, strict=True):
            matrix.add_(direction, alpha=scale)

    def _momentum(self, matrix: nn.Parameter) -> Tensor:
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum: Tensor = state["momentum_buffer"]
        return momentum


def orthogonalize(matrices: Tensor) -> Tensor:
    """Approximate U V^T of each of the matrices U S V^T [N, A, B] by Newton-Schulz steps.

    The singular values become 0.7 to 1.2.
    """
    is_tall = matrices.size(1) > matrices.size(2)
    x = matrices.mT if is_tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)  # makes all singular values at most 1
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x

"""A recurrent decoder unit whose state is a single vector, whatever the length of the translation."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SSRU(nn.Module):
    """The simpler simple recurrent unit of Kim et al. (2019), which replaces the decoder's self-attention.

    The output is relu(c_t), where c_t = f_t c_(t-1) + (1 - f_t) W x_t, f_t = sigmoid(W_f x_t + b_f) and
    c_(-1) = 0.
    """

    def __init__(self, d_model: int) -> None:
        """Input, state and output have width `d_model`."""
        super().__init__()
        self.w = nn.Linear(d_model, d_model, bias=False)
        self.w_f = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, T, d_model] to the same shape; each position depends on itself and earlier ones."""
        forget = torch.sigmoid(self.w_f(x))
        added = (1 - forget) * self.w(x)
        cell, cells = torch.zeros_like(x[:, 0]), []
        for forget_gate, candidate in zip(forget.unbind(1), added.unbind(1), strict=True):
            cell = forget_gate * cell + candidate
            cells.append(cell)
        return F.relu(torch.stack(cells, dim=1))

"""A recurrent unit whose state is one vector, however long a translation is: cheap to decode with."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SSRU(nn.Module):
    """The simpler simple recurrent unit of Kim et al. (2019), in the place of the decoder's self-attention.

    c_t = f_t c_(t-1) + (1 - f_t) W x_t with f_t = sigmoid(W_f x_t + b_f) and c_(-1) = 0 gives relu(c_t).
    """

    def __init__(self, d_model: int) -> None:
        """All of width d_model."""
        super().__init__()
        self.w = nn.Linear(d_model, d_model, bias=False)
        self.w_f = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, T, d_model] to the same shape, each position with those before it."""
        forget = torch.sigmoid(self.w_f(x))
        added = (1 - forget) * self.w(x)
        cell, cells = torch.zeros_like(x[:, 0]), []
        for kept, new in zip(forget.unbind(1), added.unbind(1), strict=True):
            cell = kept * cell + new
            cells.append(cell)
        return F.relu(torch.stack(cells, dim=1))

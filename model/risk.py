"""Minimum risk training (Shen et al., 2016): better translations are made more probable than worse ones.

Cross-entropy compares with the reference, token by token, and never with what a search would find instead.
Here, the network learns which of the candidates that a beam search found is closest to the reference.
"""

from typing import Any

import torch
from torch import Tensor

from model.loss import slices

LENGTH_PENALTY = 0.6
"""Candidates are compared by their score in beam search (section 6.1)."""


def expected_loss(logits: Tensor, targets: Tensor, gains: Tensor, pad_id: int) -> Tensor:
    """Compute the expected loss, 1 - gain, of a candidate drawn by its score; summed over the lists.

    As in equation 13 of Shen et al., the probabilities of a list are normalized to sum to 1. Here, they are
    the softmax of log-probabilities divided by the length penalty.

    Args:
        logits: [L * K, T, V], any float type, with the K candidates of a list in consecutive rows.
        targets: [L * K, T] token ids up to EOS; those equal to `pad_id` do not count.
        gains: [L, K], the quality of each candidate, from 0 to 1.
        pad_id: the id of padding.
    """
    probs = scores(logits, targets, pad_id).view_as(gains).softmax(-1)
    return (probs * (1 - gains)).sum()


def scores(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    """Return the log-probability of each of N sequences divided by ((5 + length) / 6)^0.6: [N]."""
    flat = _LogProbs.apply(logits.flatten(0, 1), targets.flatten())  # type: ignore[no-untyped-call]
    real = targets != pad_id
    log_probs: Tensor = flat.view_as(targets).masked_fill(~real, 0.0).sum(-1)
    penalized: Tensor = log_probs / ((5 + real.sum(-1)) / 6) ** LENGTH_PENALTY
    return penalized


class _LogProbs(torch.autograd.Function):
    """Computes the log-probability of each row's target in slices, without a float32 copy of [N, V]."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        log_probs: Tensor = torch.empty(len(logits), device=logits.device)
        totals = torch.empty_like(log_probs)
        for rows in slices(logits):
            row_logits = logits[rows].float()
            totals[rows] = row_logits.logsumexp(-1)
            log_probs[rows] = row_logits.gather(1, targets[rows, None]).squeeze(1) - totals[rows]
        ctx.save_for_backward(logits, targets, totals)
        return log_probs

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor, None]:
        logits, targets, totals = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        for rows in slices(logits):
            # d log p / d logit = [target] - p
            scale = output_gradients[0][rows, None]
            probs = (logits[rows].float() - totals[rows, None]).exp_().mul_(-scale)
            gradient[rows] = probs.scatter_add_(1, targets[rows, None], scale).to(logits.dtype)
        return gradient, None

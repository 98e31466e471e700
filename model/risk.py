"""Minimum risk training (Shen et al., 2016): of several translations, the better is to be the likelier.

Cross-entropy compares with the reference, token by token, and never with what a search would find instead.
Here the network reads what a beam search found, and learns which of it is nearest to the reference.
"""

from typing import Any

import torch
from torch import Tensor

from model.loss import slices

LENGTH_PENALTY = 0.6
"""Candidates compete by the score that a beam search ranks them by (section 6.1)."""


def expected_loss(logits: Tensor, targets: Tensor, gains: Tensor, pad_id: int) -> Tensor:
    """The loss, 1 - gain, to be expected of a candidate drawn by its score; summed over the lists.

    As in equation 13 of Shen et al., a list's probabilities add up to 1; the log-probabilities that they are
    made of are divided by the length penalty.

    Args:
        logits: [L * K, T, V], any float type, the K candidates of a list one behind the other.
        targets: [L * K, T] token ids, to EOS; those equal to `pad_id` do not count.
        gains: [L, K], how good each candidate is, from 0 to 1.
        pad_id: the id of padding.
    """
    probs = scores(logits, targets, pad_id).view_as(gains).softmax(-1)
    return (probs * (1 - gains)).sum()


def scores(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    """[N]: the log-probability of each of N sequences, divided by ((5 + length) / 6) ^ 0.6."""
    flat = _LogProbs.apply(logits.flatten(0, 1), targets.flatten())  # type: ignore[no-untyped-call]
    real = targets != pad_id
    log_probs: Tensor = flat.view_as(targets).masked_fill(~real, 0.0).sum(-1)
    penalized: Tensor = log_probs / ((5 + real.sum(-1)) / 6) ** LENGTH_PENALTY
    return penalized


class _LogProbs(torch.autograd.Function):
    """The log-probability of each row's target, in slices: no [N, V] is ever made in float32."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        log_probs: Tensor = torch.empty(len(logits), device=logits.device)
        totals = torch.empty_like(log_probs)
        for chosen in slices(logits):
            some = logits[chosen].float()
            totals[chosen] = some.logsumexp(-1)
            log_probs[chosen] = some.gather(1, targets[chosen, None]).squeeze(1) - totals[chosen]
        ctx.save_for_backward(logits, targets, totals)
        return log_probs

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor, None]:
        logits, targets, totals = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        for chosen in slices(logits):
            # d log p / d logit = [target] - p
            scale = output_gradients[0][chosen, None]
            probs = (logits[chosen].float() - totals[chosen, None]).exp_().mul_(-scale)
            gradient[chosen] = probs.scatter_add_(1, targets[chosen, None], scale).to(logits.dtype)
        return gradient, None

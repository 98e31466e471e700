"""Adam and its schedule (section 5.3)."""

import torch
from torch import nn

from model.config import TrainingConfig


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation (3): factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), for step >= 1."""
    if step < 1:
        raise ValueError(f"step = {step}: the schedule starts at 1")
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def cooldown(step: int, max_steps: int, cooldown_steps: int) -> float:
    """What the schedule is multiplied by: 1, then falling linearly over the last `cooldown_steps` steps."""
    remaining = max_steps - step + 1
    return min(1.0, remaining / cooldown_steps) if cooldown_steps else 1.0


def build_optimizer(network: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Adam with the paper's betas and epsilon; the learning rate is set before every step."""
    return torch.optim.Adam(
        network.parameters(), lr=0.0, betas=config.adam_betas, eps=config.adam_epsilon, fused=True
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """Give every parameter group the learning rate `value`."""
    for group in optimizer.param_groups:
        group["lr"] = value

"""Adam and its schedule (section 5.3), and Muon for the matrices of the layers."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from model.config import TrainingConfig
from model.muon import Muon


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation (3): factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), for step >= 1."""
    if step < 1:
        raise ValueError(f"step = {step}: the schedule starts at 1")
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def cooldown(step: int, max_steps: int, cooldown_steps: int, time_left: float = 1.0) -> float:
    """What the schedule is multiplied by: 1, then falling linearly over the last `cooldown_steps` steps.

    `time_left`, the share of the training time that remains, stands for as large a share of `max_steps`: what
    is left is the smaller of the two.
    """
    remaining = min(max_steps - step + 1, max_steps * time_left)
    return min(1.0, remaining / cooldown_steps) if cooldown_steps else 1.0


class Optimizer:
    """One or several of torch's optimizers over disjoint parameters, as one."""

    def __init__(self, **parts: torch.optim.Optimizer) -> None:
        """Keep the optimizers under the names that their states are saved by."""
        self.parts = parts

    def step(self, learning_rate: float) -> None:
        """One update; a group with a `rate_factor` has its learning rate multiplied by it."""
        for part in self.parts.values():
            for group in part.param_groups:
                group["lr"] = learning_rate * group.get("rate_factor", 1.0)
            part.step()

    def zero_grad(self) -> None:
        """Let go of all gradients."""
        for part in self.parts.values():
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from saved moments; rates, betas and epsilon stay as they are here.

        Raises:
            KeyError: it was saved by other optimizers than these, or by these with other groups.
        """
        for name, part in self.parts.items():
            if len(state[name]["param_groups"]) != len(part.param_groups):
                raise KeyError(f"{name} in {len(part.param_groups)} groups")
            options = [{k: v for k, v in g.items() if k != "params"} for g in part.param_groups]
            part.load_state_dict(state[name])
            for group, configured in zip(part.param_groups, options, strict=True):
                group.update(configured)


def build_optimizer(
    network: nn.Module, config: TrainingConfig, precision: torch.dtype = torch.float32
) -> Optimizer:
    """Adam with the paper's betas and epsilon, for everything or for what Muon does not take.

    Muon takes the matrices of the layers, and computes in `precision`; tables, biases and norms stay with
    Adam. Its rate is Adam's times `muon_rate_factor`. The tables' rate, of embeddings and projection, is
    Adam's times `table_rate_factor`: a token that comes once in many batches moves but then.
    """
    matrices: list[nn.Parameter] = []
    tables: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        of_a_layer = name.split(".")[0] in ("encoder", "decoder")
        if parameter.ndim == 2 and not of_a_layer:
            tables.append(parameter)
        else:
            of_muon = config.optimizer == "muon" and parameter.ndim == 2
            (matrices if of_muon else others).append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": others},
        {"params": tables, "rate_factor": config.table_rate_factor},
    ]
    adam = torch.optim.Adam(
        groups,
        lr=0.0,
        betas=config.adam_betas,
        eps=config.adam_epsilon,
        fused=True,
    )
    if not matrices:
        return Optimizer(adam=adam)
    group = {"params": matrices, "rate_factor": config.muon_rate_factor}
    return Optimizer(adam=adam, muon=Muon([group], precision))

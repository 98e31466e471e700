"""Adam with its schedule (section 5.3), and optionally Muon for the matrices of the layers."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from model.config import TrainingConfig
from model.muon import Muon


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5) (equation 3), for step >= 1."""
    if step < 1:
        raise ValueError(f"step = {step}: the schedule starts at 1")
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def cooldown(step: int, max_steps: int, cooldown_steps: int, time_left: float = 1.0) -> float:
    """Return the factor for the learning rate: 1, then falling linearly over the last `cooldown_steps` steps.

    If `time_left`, the remaining share of the training time, is smaller than the remaining share of
    `max_steps`, it counts instead.
    """
    remaining = min(max_steps - step + 1, max_steps * time_left)
    return min(1.0, remaining / cooldown_steps) if cooldown_steps else 1.0


class Optimizer:
    """One or more of torch's optimizers over disjoint parameters, used as one."""

    def __init__(
        self,
        limited: Sequence[nn.Parameter] = (),
        limit: float = 0.0,
        **parts: torch.optim.Optimizer,
    ) -> None:
        """Combine `parts`, whose states are saved under the same names.

        Unless `limit` is 0, it is the largest root mean square of the matrices `limited`, all of one shape:
        after each update, those above it are scaled down to it.
        """
        self.limited, self.limit, self.parts = limited, limit, parts

    def step(self, learning_rate: float) -> None:
        """Update the parameters. A group's learning rate is multiplied by its `rate_factor`, if any."""
        for part in self.parts.values():
            for group in part.param_groups:
                group["lr"] = learning_rate * group.get("rate_factor", 1.0)
            part.step()
        if self.limit and self.limited:
            self._scale_down()

    @torch.no_grad()
    def _scale_down(self) -> None:
        squares = torch.stack(list(self.limited)).square().mean(dim=(1, 2))
        factors = (self.limit * squares.rsqrt()).clamp(max=1.0)
        for matrix, factor in zip(self.limited, factors, strict=True):
            matrix.mul_(factor)

    def zero_grad(self) -> None:
        """Release all gradients."""
        for part in self.parts.values():
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for `load_state_dict`."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore saved moments; rates, betas and epsilon keep their configured values.

        Raises:
            KeyError: the state was saved by other optimizers, or with other parameter groups.
        """
        for name, part in self.parts.items():
            if len(state[name]["param_groups"]) != len(part.param_groups):
                raise KeyError(f"{name} in {len(part.param_groups)} groups")
            options = [
                {key: value for key, value in group.items() if key != "params"}
                for group in part.param_groups
            ]
            part.load_state_dict(state[name])
            for group, configured in zip(part.param_groups, options, strict=True):
                group.update(configured)


def build_optimizer(
    network: nn.Module, config: TrainingConfig, precision: torch.dtype = torch.float32
) -> Optimizer:
    """Build Adam for all parameters, or Muon for the matrices of the layers and Adam for the others.

    Muon computes in `precision`, with Adam's learning rate times `muon_rate_factor`. The tables of embeddings
    and projection have Adam's rate times `table_rate_factor`, because rare tokens are updated only in the few
    batches that contain them.

    Unless it is 0, `attention_limit` limits the root mean square of the matrices of queries and keys. It is a
    multiple of their initial one, d_model^-0.5.
    """
    matrices: list[nn.Parameter] = []
    tables: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    queries_and_keys: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        is_in_layer = name.split(".")[0] in ("encoder", "decoder")
        if parameter.ndim == 2 and not is_in_layer:
            tables.append(parameter)
        else:
            if name.endswith(("w_q.weight", "w_k.weight")):
                queries_and_keys.append(parameter)
            is_for_muon = config.optimizer == "muon" and parameter.ndim == 2
            (matrices if is_for_muon else others).append(parameter)
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
    initial = queries_and_keys[0].shape[1] ** -0.5 if queries_and_keys else 0.0
    limit = config.attention_limit * initial
    if not matrices:
        return Optimizer(queries_and_keys, limit, adam=adam)
    group = {"params": matrices, "rate_factor": config.muon_rate_factor}
    return Optimizer(queries_and_keys, limit, adam=adam, muon=Muon([group], precision))

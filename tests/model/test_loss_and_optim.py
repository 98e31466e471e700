"""Loss, schedule and optimizers agree with torch's, the paper's formula and singular values."""

import copy
from dataclasses import replace
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from model.config import TrainingConfig
from model.loss import label_smoothed_loss
from model.muon import Muon
from model.optim import build_optimizer, cooldown, learning_rate
from model.transformer import Transformer


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rows", [1, 128, 300])
def test_the_loss_and_its_gradient_equal_those_of_torch(smoothing: float, rows: int) -> None:
    torch.manual_seed(rows)
    logits = torch.randn(rows, 37, requires_grad=True)
    targets = torch.randint(0, 37, (rows,))
    sums = label_smoothed_loss(logits, targets, pad_id=0, smoothing=smoothing)
    (sums.smoothed / 7).backward()  # type: ignore[no-untyped-call]
    ours = logits.grad
    logits.grad = None
    expected = F.cross_entropy(
        logits, targets, ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    (expected / 7).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(sums.smoothed, expected)
    torch.testing.assert_close(ours, logits.grad)
    torch.testing.assert_close(
        sums.nll, F.cross_entropy(logits, targets, ignore_index=0, reduction="sum").detach()
    )
    assert int(sums.tokens) == int((targets != 0).sum())
    assert not sums.nll.requires_grad


def test_padding_has_no_loss() -> None:
    sums = label_smoothed_loss(torch.randn(4, 9), torch.zeros(4, dtype=torch.long), 0, 0.1)
    assert (float(sums.smoothed), int(sums.tokens)) == (0.0, 0)


def test_the_learning_rate_follows_equation_3() -> None:
    d_model, warmup = 512, 4000
    for step in (1, 2, 3999, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(1 / step**0.5, step / 4000**1.5)
        assert learning_rate(step, d_model, warmup) == pytest.approx(expected)
    rates = [learning_rate(step, d_model, warmup) for step in range(1, 9000)]
    assert rates.index(max(rates)) == warmup - 1
    assert learning_rate(10, d_model, warmup, factor=0.5) == learning_rate(5, d_model, warmup)
    with pytest.raises(ValueError, match="step = 0"):
        learning_rate(0, d_model, warmup)


def test_the_cooldown_falls_linearly_towards_zero() -> None:
    assert [cooldown(step, 10, 4) for step in (1, 7, 8, 9, 10)] == [1, 1, 0.75, 0.5, 0.25]
    assert cooldown(10, 10, 0) == 1


def test_the_cooldown_follows_the_share_of_time_left_if_that_is_lower() -> None:
    """A cooldown of four of ten steps takes the last 40 % of the time; the lower factor applies."""
    shares = (1.0, 0.5, 0.4, 0.3, 0.1, 0.0)
    found = [cooldown(1, 10, 4, share) for share in shares]
    assert found == pytest.approx([1, 1, 1, 0.75, 0.25, 0])
    assert cooldown(10, 10, 4, 0.3) == 0.25
    assert cooldown(1, 10, 0, 0.1) == 1


def test_muons_first_step_has_equal_singular_values_and_adam_updates_the_rest(
    network: Transformer,
) -> None:
    """The first step is along U V^T of the gradient U S V^T, scaled by `muon_rate_factor`."""
    before = copy.deepcopy(network.state_dict())
    torch.manual_seed(0)
    for parameter in network.parameters():
        parameter.grad = torch.randn_like(parameter)
    config = TrainingConfig(optimizer="muon", muon_rate_factor=5.0, table_rate_factor=3.0)
    build_optimizer(network, config).step(learning_rate=0.01)
    matrices = 0
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        moved = before[name] - parameter.detach()
        if "embedding" in name or parameter.ndim == 1:
            # Adam's first step is the sign of the gradient
            rate = 0.03 if "embedding" in name else 0.01
            torch.testing.assert_close(moved, rate * parameter.grad.sign(), rtol=1e-3, atol=1e-6)
            continue
        u, _, v = torch.linalg.svd(parameter.grad, full_matrices=False)
        assert F.cosine_similarity(moved.flatten(), (u @ v).flatten(), dim=0) > 0.95, name
        lengths = torch.linalg.svdvals(moved) / (0.2 * max(moved.shape) ** 0.5)
        assert lengths.mean().item() == pytest.approx(0.05, rel=0.2), name
        matrices += 1
    assert matrices == 2 * 6 + 2 * 10, (
        "q, k, v, o, w_1, w_2 of each layer, and 4 more of a decoder's"
    )


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_matrices_of_queries_and_keys_are_scaled_down_to_their_limit(
    network: Transformer, kind: Literal["adam", "muon"]
) -> None:
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.mul_(5 if "encoder.0" in name else 1)
    free = copy.deepcopy(network)
    for parameter, copied in zip(network.parameters(), free.parameters(), strict=True):
        parameter.grad = torch.randn_like(parameter)
        copied.grad = parameter.grad.clone()
    config = TrainingConfig(optimizer=kind, attention_limit=1.5)
    build_optimizer(network, config).step(learning_rate=1e-4)
    build_optimizer(free, replace(config, attention_limit=0.0)).step(learning_rate=1e-4)
    limit = 1.5 * network.config.d_model**-0.5
    scaled = set()
    for name, parameter in network.named_parameters():
        unlimited = free.get_parameter(name)
        if not parameter.equal(unlimited):
            scaled.add(name)
            size = parameter.square().mean().sqrt().item()
            assert size == pytest.approx(limit, rel=1e-5)
            torch.testing.assert_close(
                parameter / size, unlimited / unlimited.square().mean().sqrt()
            )
    assert scaled == {f"encoder.0.self_attention.w_{side}.weight" for side in "qk"}


def test_a_network_without_attention_is_not_limited() -> None:
    layer = nn.Linear(3, 3)
    layer.weight.grad = torch.zeros(3, 3)
    before = layer.weight.detach().clone()
    config = TrainingConfig(attention_limit=1e-3)
    build_optimizer(nn.ModuleDict({"encoder": layer}), config).step(learning_rate=0.1)
    assert layer.weight.equal(before)


def test_a_resumed_optimizer_keeps_its_moments_and_uses_the_new_rates(network: Transformer) -> None:
    before = TrainingConfig(optimizer="muon", muon_rate_factor=5.0)
    today = replace(before, muon_rate_factor=10.0, adam_betas=(0.8, 0.9))
    for parameter in network.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer = build_optimizer(network, before)
    optimizer.step(learning_rate=0.01)
    saved = optimizer.state_dict()

    name = "encoder.0.self_attention.w_q.weight"
    start = network.get_parameter(name).detach().clone()
    moved = []
    for config in (before, today):
        one = copy.deepcopy(network)
        for ours, theirs in zip(one.parameters(), network.parameters(), strict=True):
            ours.grad = theirs.grad
        resumed = build_optimizer(one, config)
        resumed.load_state_dict(copy.deepcopy(saved))
        resumed.step(learning_rate=0.01)
        moved.append(one.get_parameter(name).detach() - start)
        adam = resumed.parts["adam"]
        assert adam.param_groups[0]["betas"] == config.adam_betas
        assert all(state["step"] == 2 for state in adam.state_dict()["state"].values())
    torch.testing.assert_close(moved[1], 2 * moved[0], rtol=1e-3, atol=1e-6)


def test_without_muon_all_parameters_are_updated_as_by_adam(network: Transformer) -> None:
    other = copy.deepcopy(network)
    for ours, theirs in zip(network.parameters(), other.parameters(), strict=True):
        ours.grad = torch.randn_like(ours)
        theirs.grad = ours.grad.clone()
    build_optimizer(network, TrainingConfig()).step(learning_rate=0.003)
    torch.optim.Adam(other.parameters(), lr=0.003, betas=(0.9, 0.98), eps=1e-9).step()
    for ours, theirs in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_muon_moves_matrices_together_as_it_moves_each_alone() -> None:
    torch.manual_seed(0)
    together = [nn.Parameter(torch.randn(shape)) for shape in [(6, 6), (4, 9), (6, 6), (4, 9)]]
    alone = copy.deepcopy(together)
    optimizers = [Muon([{"params": together, "lr": 0.02}], torch.float32)]
    optimizers += [Muon([{"params": [matrix], "lr": 0.02}], torch.float32) for matrix in alone]
    for _ in range(3):
        for one, other in zip(together, alone, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_muons_steps_equal_those_of_torch(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    start = torch.randn(shape)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    precise = nn.Parameter(start.clone())
    optimizers = (
        (ours, Muon([{"params": [ours]}], torch.bfloat16)),
        (precise, Muon([{"params": [precise]}], torch.float32)),
        (
            theirs,
            torch.optim.Muon([theirs], weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
        ),
    )
    for _ in range(3):
        gradient = torch.randn(shape)
        for parameter, optimizer in optimizers:
            parameter.grad = gradient.clone()
            for group in optimizer.param_groups:
                group["lr"] = 0.02
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(precise, theirs, rtol=0.0, atol=2e-3)

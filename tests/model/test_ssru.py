"""The recurrent unit agrees with its formula, one vector after another."""

import math
from dataclasses import replace

import pytest
import torch

from model.config import ModelConfig
from model.ssru import SSRU
from model.transformer import Transformer


@torch.no_grad()
def test_outputs_equal_those_of_the_formula() -> None:
    torch.manual_seed(0)
    unit, x = SSRU(6), torch.randn(2, 5, 6)
    found = unit(x)
    for row in range(2):
        cell = [0.0] * 6
        for step in range(5):
            new = (unit.w.weight @ x[row, step]).tolist()
            gate = (unit.w_f.weight @ x[row, step] + unit.w_f.bias).tolist()
            for i in range(6):
                kept = 1 / (1 + math.exp(-gate[i]))
                cell[i] = kept * cell[i] + (1 - kept) * new[i]
                assert found[row, step, i].item() == pytest.approx(max(0.0, cell[i]), abs=1e-6)


def test_a_recurrent_decoder_has_no_self_attention_and_depends_on_the_past_only(
    network: Transformer,
) -> None:
    torch.manual_seed(0)
    recurrent = Transformer(replace(network.config, decoder_cell="ssru"), 0).eval()
    names = [name for name, _ in recurrent.named_parameters() if name.startswith("decoder.0")]
    assert not any("self_attention" in name for name in names)
    assert sum("recurrence" in name for name in names) == 3
    source, target = torch.randint(4, 11, (2, 6)), torch.randint(4, 11, (2, 9))
    logits = recurrent(source, target)
    for changed in range(9):  # earlier positions count, later ones do not
        other = target.clone()
        other[:, changed] = (other[:, changed] - 4 + 1) % 7 + 4
        difference = (recurrent(source, other) - logits).abs().amax(dim=(0, 2))
        assert not difference[:changed].any()
        assert difference[changed:].min().item() > 1e-6
    maps = recurrent.attention_maps(source, target)
    assert "decoder.0.cross" in maps
    assert "decoder.0.self" not in maps


def test_every_parameter_has_a_gradient() -> None:
    network = Transformer(ModelConfig(8, 16, 16, 2, 1, 1, dropout=0.0, decoder_cell="ssru"), 0)
    network(torch.tensor([[5, 6]]), torch.tensor([[2, 7]])).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())

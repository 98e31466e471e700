"""The network agrees with torch's attention, the paper's formulas, and the guarantees of masks."""

import math
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import nn

from model.config import ModelConfig, load_config
from model.transformer import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    PositionwiseFeedForward,
    Transformer,
    look_ahead_mask,
    position_table,
    sinusoids,
)


def test_attention_equals_that_of_torch() -> None:
    torch.manual_seed(0)
    ours = MultiHeadAttention(24, 4)
    theirs = nn.MultiheadAttention(24, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        theirs.out_proj.bias.copy_(ours.w_o.bias)
    query, memory = torch.randn(3, 5, 24), torch.randn(3, 7, 24)
    padding = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]
    weights: list[torch.Tensor] = []
    output = ours(query, memory, padding[:, None, None], weights)
    expected, expected_weights = theirs(
        query, memory, memory, key_padding_mask=~padding, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights[0], expected_weights)
    torch.testing.assert_close(output, ours(query, memory, padding[:, None, None]))


def test_positions_are_the_sinusoids_of_the_paper() -> None:
    table = sinusoids(50, 16)
    for position in (0, 1, 7, 49):
        for i in range(8):
            angle = position / 10000 ** (2 * i / 16)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("offset", [0, 2])
def test_position_layouts_of_other_toolkits_follow_their_formulas(
    inclusive: bool, offset: int
) -> None:
    config = ModelConfig(
        8,
        d_model=16,
        num_heads=2,
        max_positions=50,
        position_layout="halves",
        position_exponent="inclusive" if inclusive else "exclusive",
        position_offset=offset,
    )
    table = position_table(config)
    assert table.shape == (50, 16)
    for row in (0, 1, 7, 49):
        for i in range(8):
            angle = (row + offset) / 10000 ** (i / (7 if inclusive else 8))
            assert table[row, i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[row, 8 + i].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_embeddings_are_not_scaled_if_configured() -> None:
    torch.manual_seed(0)
    scaled = Transformer(ModelConfig(8, 16, 16, 2, 1, 1, dropout=0.0), 0)
    plain = Transformer(replace(scaled.config, scaled_embeddings=False), 0)
    plain.load_state_dict(scaled.state_dict())
    with torch.no_grad():
        plain.embedding.weight *= 4.0  # sqrt(16)
    source = torch.tensor([[5, 6, 3]])
    torch.testing.assert_close(plain.encode(source), scaled.encode(source))


def test_positions_can_be_stored_for_each_side() -> None:
    torch.manual_seed(0)
    computed = Transformer(ModelConfig(8, 16, 16, 2, 1, 1, dropout=0.0, max_positions=9), 0)
    network = Transformer(replace(computed.config, positions="stored"), 0)
    tables = {f"{side}_positions.table": torch.randn(9, 16) for side in ("source", "target")}
    network.load_state_dict({**computed.state_dict(), **tables})
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 5]])
    moved = Transformer(computed.config, 0)
    moved.load_state_dict(computed.state_dict())
    moved.source_positions.table = tables["source_positions.table"]
    assert not network(source, target).allclose(moved(source, target))
    moved.target_positions.table = tables["target_positions.table"]
    torch.testing.assert_close(network(source, target), moved(source, target))


def test_the_projection_bias_is_added_to_the_logits() -> None:
    torch.manual_seed(0)
    without = Transformer(ModelConfig(8, 16, 16, 2, 1, 1, dropout=0.0), 0)
    network = Transformer(replace(without.config, projection_bias=True), 0)
    bias = torch.randn(8)
    network.load_state_dict({**without.state_dict(), "projection_bias": bias})
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 5]])
    torch.testing.assert_close(network(source, target), without(source, target) + bias)


def test_no_position_depends_on_later_ones(network: Transformer) -> None:
    source, target = torch.randint(4, 11, (2, 6)), torch.randint(4, 11, (2, 9))
    logits = network(source, target)
    for changed in range(9):
        other = target.clone()
        other[:, changed] = (other[:, changed] - 4 + 1) % 7 + 4
        difference = (network(source, other) - logits).abs().amax(dim=(0, 2))
        assert difference[:changed].max().item() < 1e-5 if changed else True
        assert difference[changed].item() > 1e-4


def test_padding_does_not_change_the_logits(network: Transformer) -> None:
    source, target = torch.randint(4, 11, (1, 4)), torch.randint(4, 11, (1, 5))
    padded_source, padded_target = (nn.functional.pad(ids, (0, 3)) for ids in (source, target))
    torch.testing.assert_close(
        network(padded_source, padded_target)[:, :5], network(source, target)
    )


def test_attention_maps_are_distributions_over_unmasked_positions(network: Transformer) -> None:
    source, target = torch.tensor([[5, 6, 7, 0]]), torch.tensor([[2, 5, 6]])
    maps = network.attention_maps(source, target)
    kinds = ("encoder.{}.self", "decoder.{}.self", "decoder.{}.cross")
    assert maps.keys() == {kind.format(layer) for kind in kinds for layer in (0, 1)}
    for name, weights in maps.items():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        if name.startswith("decoder") and name.endswith("self"):
            assert not weights[~look_ahead_mask(3).expand_as(weights)].any()
        else:
            assert not weights[..., 3].any(), "padding is attended to"


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
def test_layers_equal_those_of_torch(
    norm: Literal["post", "pre"], activation: Literal["relu", "gelu", "gelu_tanh"]
) -> None:
    torch.manual_seed(0)
    sizes = ModelConfig(
        *(11, 24, 48, 4, 1, 1),
        dropout=0.0,
        norm=norm,
        activation=activation,
        layer_norm_epsilon=0.1 if activation == "gelu" else 1e-5,
    )
    encoder, decoder = EncoderLayer(sizes), DecoderLayer(sizes)
    same: dict[str, Any] = {
        "d_model": 24, "nhead": 4, "dim_feedforward": 48, "dropout": 0.0, "batch_first": True,
        "activation": nn.GELU("tanh") if activation == "gelu_tanh" else activation,
        "norm_first": norm == "pre", "layer_norm_eps": sizes.layer_norm_epsilon,
    }  # fmt: skip
    their_encoder = nn.TransformerEncoderLayer(**same)
    their_decoder = nn.TransformerDecoderLayer(**same)
    for ours, theirs in ((encoder, their_encoder), (decoder, their_decoder)):
        theirs.load_state_dict(as_torch_names(ours))
    memory, x = torch.randn(3, 7, 24), torch.randn(3, 5, 24)
    everything, past = torch.ones(1, 1, 1, 7, dtype=torch.bool), look_ahead_mask(5)
    torch.testing.assert_close(encoder(memory, everything), their_encoder(memory))
    torch.testing.assert_close(
        decoder(x, memory, past, everything), their_decoder(x, memory, tgt_mask=~past[0, 0])
    )


def as_torch_names(layer: nn.Module) -> dict[str, torch.Tensor]:
    """Return a layer's weights under torch's names."""
    state, renamed = layer.state_dict(), {}
    for attention, theirs in (
        ("self_attention", "self_attn"),
        ("cross_attention", "multihead_attn"),
    ):
        if f"{attention}.w_q.weight" in state:
            for kind in ("weight", "bias"):
                parts = [state[f"{attention}.w_{one}.{kind}"] for one in "qkv"]
                renamed[f"{theirs}.in_proj_{kind}"] = torch.cat(parts)
                renamed[f"{theirs}.out_proj.{kind}"] = state[f"{attention}.w_o.{kind}"]
    for name, tensor in state.items():
        if "attention" not in name:
            name = name.replace("feed_forward.w_", "linear").replace("norm_", "norm")
            renamed[name] = tensor
    return renamed


def test_pre_norm_ends_each_stack_with_a_norm(network: Transformer) -> None:
    torch.manual_seed(0)
    pre = Transformer(replace(network.config, norm="pre"), 0).eval()
    source, target = torch.randint(4, 11, (2, 6)), torch.randint(4, 11, (2, 5))
    memory = pre.encode(source)
    for states in (memory, pre.decode(target, memory, source)):
        torch.testing.assert_close(
            states.mean(-1), torch.zeros(states.shape[:2]), atol=1e-5, rtol=0
        )
        torch.testing.assert_close(
            states.var(-1, correction=0), torch.ones(states.shape[:2]), atol=1e-3, rtol=0
        )


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("final_norm", ["pre", "always", "never"])
def test_a_stack_ends_with_a_norm_if_configured(
    network: Transformer,
    norm: Literal["post", "pre"],
    final_norm: Literal["pre", "always", "never"],
) -> None:
    other = Transformer(replace(network.config, norm=norm, final_norm=final_norm), 0)
    has_norm = {"pre": norm == "pre", "always": True, "never": False}[final_norm]
    for stack in (other.encoder_norm, other.decoder_norm):
        assert isinstance(stack, nn.LayerNorm if has_norm else nn.Identity)


def test_every_norm_adds_the_epsilon_to_the_variance() -> None:
    config = ModelConfig(8, 16, 16, 2, 1, 1, final_norm="always", layer_norm_epsilon=0.5)
    network = Transformer(config, 0)
    norms = [one for one in network.modules() if isinstance(one, nn.LayerNorm)]
    assert len(norms) == 2 + 3 + 2
    x = torch.randn(3, 16)
    expected = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 0.5).sqrt()
    for norm in norms:
        torch.testing.assert_close(norm(x), expected)


def test_pre_norm_can_leave_keys_and_values_unnormalized() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(
        ModelConfig(8, 16, 16, 2, 1, 1, dropout=0.0, norm="pre", normed_keys=False)
    )
    nn.init.normal_(layer.norm_1.weight)
    x, everything = torch.randn(2, 5, 16), torch.ones(1, 1, 1, 5, dtype=torch.bool)
    theirs = nn.MultiheadAttention(16, 2, batch_first=True)
    attention = {
        name.removeprefix("self_attn."): tensor
        for name, tensor in as_torch_names(layer).items()
        if name.startswith("self_attn.")
    }
    theirs.load_state_dict(attention)
    attended = x + theirs(layer.norm_1(x), x, x)[0]
    expected = attended + layer.feed_forward(layer.norm_2(attended))
    torch.testing.assert_close(layer(x, everything), expected)


def test_gelu_can_be_approximated_by_a_sigmoid() -> None:
    feed_forward = PositionwiseFeedForward(ModelConfig(8, 4, 6, 2, activation="gelu_sigmoid"))
    x = torch.randn(5, 4)
    wide = feed_forward.w_1(x)
    expected = feed_forward.w_2(wide / (1 + torch.exp(-1.702 * wide)))
    torch.testing.assert_close(feed_forward(x), expected)


@pytest.mark.parametrize(("embeddings", "tables"), [("shared", 1), ("target", 2), ("separate", 3)])
def test_the_number_of_embedding_tables_is_as_configured(
    network: Transformer, embeddings: Literal["shared", "target", "separate"], tables: int
) -> None:
    other = Transformer(replace(network.config, embeddings=embeddings), 0)
    sizes = [sum(p.numel() for p in one.parameters()) for one in (other, network)]
    assert sizes[0] - sizes[1] == (tables - 1) * 11 * 16
    other(torch.tensor([[5, 6]]), torch.tensor([[2, 7]])).sum().backward()
    used = {name: p.grad is not None for name, p in other.named_parameters()}
    assert all(used.values()), used


def test_embedding_and_projection_share_one_table(network: Transformer) -> None:
    states = torch.randn(2, 3, 16)
    torch.testing.assert_close(network.project(states), states @ network.embedding.weight.T)


def test_the_base_preset_has_the_size_of_the_paper() -> None:
    sizes = replace(load_config("base").model, vocab_size=37000)
    with torch.device("meta"):
        parameters = sum(p.numel() for p in Transformer(sizes, 0).parameters())
    assert parameters == pytest.approx(65e6, rel=0.05)  # table 3


def test_the_gradient_of_attention_is_accurate_in_bf16() -> None:
    """If values are similar, the gradient of the softmax is a small difference of large numbers."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(64, 1)
    nn.init.eye_(attention.w_o.weight)
    nn.init.constant_(attention.w_v.bias, 100.0)
    x, mask = torch.randn(4, 12, 64), torch.ones(1, 1, 1, 12, dtype=torch.bool)

    def query_gradient(*, bf16: bool) -> torch.Tensor:
        attention.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            output = attention(x, x, mask)
        output.float().sum().backward()
        assert attention.w_q.weight.grad is not None
        return attention.w_q.weight.grad.flatten().clone()

    half, full = query_gradient(bf16=True), query_gradient(bf16=False)
    assert torch.cosine_similarity(half, full, dim=0).item() > 0.95


def test_too_many_positions_are_an_error_that_names_the_limit(network: Transformer) -> None:
    with pytest.raises(ValueError, match="65 positions, but the model has max_positions = 64"):
        network.encode(torch.full((1, 65), 5))

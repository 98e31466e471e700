"""Random weights whose translations end like real ones, and sources for them.

The cost of a network does not depend on its translations, as long as their lengths are realistic.
"""

import math
import random

import torch
from torch import nn

from model.network_config import ModelConfig
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.transformer import DecoderLayer, Transformer

PERIOD, LOUDNESS = 40, 30
"""The period of the clock that ends translations, in positions, and its weight in EOS's logit."""
MEAN_LENGTH, SPREAD_LENGTH = 17, 5
"""Mean and spread of the translations' lengths, in tokens."""


def random_sources(count: int, vocab_size: int) -> list[list[int]]:
    """Draw random ids, with lengths as in everyday text: 17 tokens on average and at most 60."""
    rng = random.Random(0)
    lengths = [min(60, max(3, round(rng.gammavariate(2.5, 7)))) for _ in range(count)]
    return [[*(rng.randrange(4, vocab_size) for _ in range(size)), EOS_ID] for size in lengths]


@torch.inference_mode()
def ending_network(sizes: ModelConfig, sources: list[list[int]]) -> Transformer:
    """Build a network of random weights whose translations repeat no token and have varying lengths.

    Feed-forward layers are linear maps (units in pairs of opposite sign), and the last one is large, so
    that a token leads to another one instead of itself. One coordinate of the decoder's states is a clock.
    Only the sinusoid sin(t / period) and one cross-attention, which makes the clock faster or slower for a
    sentence, write to it. The logit of EOS depends on the clock alone.
    """
    torch.manual_seed(0)
    network = Transformer(sizes, PAD_ID).eval()
    clock = _clock(sizes)
    for module in network.modules():
        if isinstance(module, nn.Linear):  # not uniform: few trained weights are large
            nn.init.xavier_normal_(module.weight)
    network.embedding.weight.mul_(4)  # sharp choices
    network.embedding.weight[[PAD_ID, UNK_ID]] = 0
    if sizes.decoder_cell == "ssru":
        network.embedding.weight[BOS_ID] = 0  # as in Marian
    _silence(network.embedding.weight.T, clock)
    layers = [layer for layer in network.decoder if isinstance(layer, DecoderLayer)]
    half = sizes.d_ff // 2
    for layer in layers:
        feed_forward = layer.feed_forward
        feed_forward.w_1.weight[half:] = -feed_forward.w_1.weight[:half]
        feed_forward.w_2.weight[:, half:] = -feed_forward.w_2.weight[:, :half]
        self_attention = layer.recurrence.w if layer.is_recurrent else layer.self_attention.w_o
        for linear in (self_attention, layer.cross_attention.w_o):
            linear.weight.mul_(0.3)
            _silence(linear.weight, clock)
        _silence(feed_forward.w_2.weight, clock)
    layers[-1].feed_forward.w_2.weight.mul_(30)
    layers[-1].feed_forward.w_1.weight[:, clock] = 0
    for norm in (layers[0].norm_1, layers[-1].norm_2):
        norm.weight[clock] = 20  # large enough beside the other coordinates
    _set_clock(network, layers, sources, clock)
    return network


def _clock(sizes: ModelConfig) -> int:
    """Return the coordinate to which positions add sin(t / PERIOD)."""
    steps = sizes.d_model / 2 - (sizes.position_exponent == "inclusive")
    frequency = round(steps * math.log(PERIOD) / math.log(10000))
    return frequency if sizes.position_layout == "halves" else 2 * frequency


def _set_clock(
    network: Transformer, layers: list[DecoderLayer], sources: list[list[int]], clock: int
) -> None:
    """Make EOS the best token after MEAN_LENGTH tokens on average, with a deviation of SPREAD_LENGTH."""
    network.embedding.weight[EOS_ID] = 0
    network.embedding.weight[EOS_ID, clock] = LOUDNESS  # set first, since sources also end with EOS
    times, _ = _clocks(network, sources, clock)
    # from the second step on: at the first, the state may be only the sinusoid
    a_token = (times[:, MEAN_LENGTH] - times[:, 1]).mean() / (MEAN_LENGTH - 1)
    tempo, still = layers[0].cross_attention.w_o, times[:, 1]
    # small, because norms are not linear for large values
    direction = 0.01 * torch.randn(len(tempo.weight))
    tempo.weight[clock] = direction
    moved = _clocks(network, sources, clock, steps=2)[0][:, 1] - still
    scale = SPREAD_LENGTH * a_token / moved.std()
    tempo.weight[clock], tempo.bias[clock] = scale * direction, -scale * moved.mean()
    times, best = _clocks(network, sources, clock)
    layers[-1].norm_3.bias[clock] = best / LOUDNESS - times[:, MEAN_LENGTH].mean()


def _clocks(
    network: Transformer, sources: list[list[int]], clock: int, steps: int = MEAN_LENGTH + 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the clock at each step of a greedy translation of each source, [N, steps].

    Also returns the mean logit of the chosen tokens, which exclude EOS.
    """
    times, logits = [], []
    for source in sources:
        row, ids = torch.tensor([source]), torch.tensor([[BOS_ID]])
        memory = network.encode(row)
        for _ in range(steps):
            states = network.decode(ids, memory, row)
            best = (states[0, -1] @ network.embedding.weight[EOS_ID + 1 :].T).max(0)
            logits.append(best.values)
            ids = torch.cat((ids, best.indices.reshape(1, 1) + EOS_ID + 1), 1)
        times.append(states[0, :, clock])
    return torch.stack(times), torch.stack(logits).mean()


def _silence(weight: torch.Tensor, clock: int) -> None:
    """Make `weight` [d_model, ...] write nothing to the clock, and no mean, which norms would subtract."""
    weight -= weight.mean(0)
    weight[clock] = 0

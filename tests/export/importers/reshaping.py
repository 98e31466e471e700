"""Conversion of a trained network to an equivalent or nearly equivalent one that a format can store."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.data.batches import batches_of
from model.data.corpus import Pair

READS = "w_q.weight", "w_k.weight", "w_v.weight", "w_1.weight", "embedding.weight"
"""Matrices whose columns are coordinates of the layers' values; `MAKES` are those whose rows are."""
MAKES = "w_o.weight", "w_o.bias", "w_2.weight", "w_2.bias"
BATCH_TOKENS = 2000


def with_halves(checkpoint: Checkpoint, **changes: Any) -> Checkpoint:
    """Reorder the coordinates, so that position encodings have all sines before all cosines.

    The network computes the same, unless `changes` of its configuration move its positions.
    """
    sizes, turned = checkpoint.config.model, dict(checkpoint.weights)
    order = torch.tensor([*range(0, sizes.d_model, 2), *range(1, sizes.d_model, 2)])
    for name, tensor in checkpoint.weights.items():
        if name.endswith(READS):
            turned[name] = tensor[:, order]
        elif name.endswith(MAKES) or "norm" in name:
            turned[name] = tensor[order]
    return with_sizes(checkpoint, turned, position_layout="halves", **changes)


def with_sizes(checkpoint: Checkpoint, weights: Mapping[str, Tensor], **changes: Any) -> Checkpoint:
    """Return the checkpoint with other weights and a changed configuration of the network."""
    sizes = replace(checkpoint.config.model, **changes)
    return replace(checkpoint, config=replace(checkpoint.config, model=sizes), weights=weights)


def with_post_norm(checkpoint: Checkpoint, pairs: list[Pair]) -> Checkpoint:
    """Convert a pre-norm network to a post-norm one that computes nearly the same.

    A norm after a sub-layer divides the sum x + f by its standard deviation s. Gain and bias of the norm
    before a sub-layer are moved into the matrices that read it. As x is divided by s, the output of the next
    sub-layer must be divided by s too. But s differs between tokens; its mean over those of `pairs` is used.
    """
    old, weights = checkpoint.weights, dict(checkpoint.weights)
    spread = _spreads(checkpoint, pairs)
    for stack in ("encoder", "decoder"):
        for number, (norm, module, reads, makes) in enumerate(_sub_layers(checkpoint, stack)):
            gain, bias, divisor = old[f"{norm}.weight"], old[f"{norm}.bias"], spread[norm]
            for name in (f"{module}.{part}" for part in reads):
                read = weights[f"{name}.weight"] = old[f"{name}.weight"] * gain
                weights[f"{name}.bias"] = old[f"{name}.bias"] + old[f"{name}.weight"] @ bias
                if number == 0:  # reads embeddings without a norm
                    weights[f"{name}.weight"] = (read - read.mean(1, keepdim=True)) / divisor
            for kind in ("weight", "bias") if number else ():
                weights[f"{module}.{makes}.{kind}"] = old[f"{module}.{makes}.{kind}"] / divisor
            weights[f"{norm}.weight"], weights[f"{norm}.bias"] = torch.ones(len(bias)), 0 * bias
        for kind in ("weight", "bias"):  # the last norm is the former final norm
            weights[f"{norm}.{kind}"] = weights.pop(f"{stack}_norm.{kind}")
    return with_sizes(checkpoint, weights, norm="post")


def _sub_layers(
    checkpoint: Checkpoint, stack: str
) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Yield each sub-layer's norm, its name, the matrices that read its input, and that of its output."""
    sizes = checkpoint.config.model
    is_encoder = stack == "encoder"
    for layer in range(sizes.num_encoder_layers if is_encoder else sizes.num_decoder_layers):
        parts: list[tuple[str, tuple[str, ...], str]]
        parts = [("self_attention", ("w_q", "w_k", "w_v"), "w_o")]
        if not is_encoder:
            parts.append(("cross_attention", ("w_q",), "w_o"))
        parts.append(("feed_forward", ("w_1",), "w_2"))
        for number, (module, reads, makes) in enumerate(parts, start=1):
            yield f"{stack}.{layer}.norm_{number}", f"{stack}.{layer}.{module}", reads, makes


@torch.inference_mode()
def _spreads(checkpoint: Checkpoint, pairs: list[Pair]) -> dict[str, float]:
    """Return the standard deviation of each norm's input: the harmonic mean over all tokens."""
    network, pad = checkpoint.network(), 0
    inverse: dict[str, list[Tensor]] = {}
    real: dict[str, Tensor] = {}

    def watch(name: str) -> Any:
        def see(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            rows = inputs[0][real[name.split(".")[0].removesuffix("_norm")]]
            inverse.setdefault(name, []).append(1 / rows.std(-1, correction=0))

        return see

    for name, module in network.named_modules():
        if isinstance(module, nn.LayerNorm):
            module.register_forward_pre_hook(watch(name))
    for batch in batches_of(pairs, BATCH_TOKENS):
        real |= {"encoder": batch.source != pad, "decoder": batch.target_in != pad}
        network(batch.source, batch.target_in)
    return {name: 1 / float(torch.cat(found).mean()) for name, found in inverse.items()}

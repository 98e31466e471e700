"""Adds layers to a trained network without changing its output, so that training can continue from there."""

from dataclasses import replace

import torch

from model.checkpoint import Checkpoint, Weights
from model.checks import require
from model.config import ModelConfig

WIDTHS = ("d_model", "d_ff", "num_heads")
OUTPUTS = ("w_o.weight", "w_o.bias", "w_2.weight", "w_2.bias")
"""Parameters of a sub-layer's output. If they are 0, pre-norm adds nothing to the residual."""


def grown(checkpoint: Checkpoint, config: ModelConfig) -> Checkpoint:
    """Return the checkpoint with as many layers as `config` has.

    New layers are spread evenly among the old ones. Each is a copy of the layer before it, with outputs of 0.

    Raises:
        ConfigError: `config` has fewer layers or other widths, the network is not pre-norm, or its decoder
            would grow but is recurrent.
    """
    sizes, weights = checkpoint.config.model, checkpoint.weights
    for name in WIDTHS:
        size, wanted_size = getattr(sizes, name), getattr(config, name)
        require(
            size == wanted_size,
            f"--grow: the bundle has {name} = {size}, but model.{name} = {wanted_size}",
        )
    require(
        sizes.norm == "pre",
        f"--grow: the bundle has norm = {sizes.norm!r}, but layers can only be added with norm = 'pre'",
    )
    for stack in ("encoder", "decoder"):
        key = f"num_{stack}_layers"
        num_layers, num_wanted = getattr(sizes, key), getattr(config, key)
        require(
            num_layers <= num_wanted,
            f"--grow: the bundle has {key} = {num_layers}, more than model.{key} = {num_wanted}",
        )
        require(
            num_layers == num_wanted or stack == "encoder" or sizes.decoder_cell == "attention",
            f"--grow: the bundle has decoder_cell = {sizes.decoder_cell!r}, which cannot learn from "
            f"an output of 0; set model.{key} = {num_layers} instead of {num_wanted}",
        )
        weights, sizes = (
            _deeper(weights, stack, num_layers, num_wanted),
            replace(sizes, **{key: num_wanted}),
        )
    return replace(checkpoint, config=replace(checkpoint.config, model=sizes), weights=weights)


def _deeper(weights: Weights, stack: str, num_before: int, num_after: int) -> Weights:
    """Return the weights with `num_after` instead of `num_before` layers in one stack."""
    grown = {name: tensor for name, tensor in weights.items() if not name.startswith(f"{stack}.")}
    origins = [layer * num_before // num_after for layer in range(num_after)]
    for layer, origin in enumerate(origins):
        prefix, is_new = f"{stack}.{origin}.", layer > 0 and origins[layer - 1] == origin
        for name, tensor in weights.items():
            if name.startswith(prefix):
                is_silent = is_new and name.endswith(OUTPUTS)
                value = torch.zeros_like(tensor) if is_silent else tensor
                grown[f"{stack}.{layer}.{name.removeprefix(prefix)}"] = value
    return grown

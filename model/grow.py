"""Adds layers to a trained network without changing its output, so that training can continue from there."""

from dataclasses import replace

import torch

from model.checkpoint import Checkpoint, Weights
from model.checks import require
from model.config import ModelConfig

WIDTHS = ("d_model", "d_ff", "num_heads")
OUTPUTS = ("w_o.weight", "w_o.bias", "w_2.weight", "w_2.bias")
"""Parameters of a sub-layer's output. If they are 0, pre-norm adds nothing to the residual."""


def grown(checkpoint: Checkpoint, wanted: ModelConfig) -> Checkpoint:
    """Return the checkpoint with as many layers as `wanted` has.

    New layers are spread evenly among the old ones. Each is a copy of the layer before it, with outputs of 0.

    Raises:
        ConfigError: `wanted` has fewer layers or other widths, the network is not pre-norm, or its decoder
            would grow but is recurrent.
    """
    sizes, weights = checkpoint.config.model, checkpoint.weights
    for name in WIDTHS:
        here, there = getattr(sizes, name), getattr(wanted, name)
        require(
            here == there, f"--grow: the bundle has {name} = {here}, but model.{name} = {there}"
        )
    require(
        sizes.norm == "pre",
        f"--grow: the bundle has norm = {sizes.norm!r}, but layers can only be added with norm = 'pre'",
    )
    for stack in ("encoder", "decoder"):
        key = f"num_{stack}_layers"
        here, there = getattr(sizes, key), getattr(wanted, key)
        require(
            here <= there,
            f"--grow: the bundle has {key} = {here}, more than model.{key} = {there}",
        )
        require(
            here == there or stack == "encoder" or sizes.decoder_cell == "attention",
            f"--grow: the bundle has decoder_cell = {sizes.decoder_cell!r}, which cannot learn from "
            f"an output of 0; set model.{key} = {here} instead of {there}",
        )
        weights, sizes = _deeper(weights, stack, here, there), replace(sizes, **{key: there})
    return replace(checkpoint, config=replace(checkpoint.config, model=sizes), weights=weights)


def _deeper(weights: Weights, stack: str, before: int, after: int) -> Weights:
    """Return the weights with `after` instead of `before` layers in one stack."""
    grown = {name: tensor for name, tensor in weights.items() if not name.startswith(f"{stack}.")}
    origins = [layer * before // after for layer in range(after)]
    for layer, origin in enumerate(origins):
        prefix, is_new = f"{stack}.{origin}.", layer > 0 and origins[layer - 1] == origin
        for name, tensor in weights.items():
            if name.startswith(prefix):
                silent = is_new and name.endswith(OUTPUTS)
                value = torch.zeros_like(tensor) if silent else tensor
                grown[f"{stack}.{layer}.{name.removeprefix(prefix)}"] = value
    return grown

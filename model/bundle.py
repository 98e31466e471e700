"""Reads the weights of an exported bundle, so that training can start from them.

In floating-point graphs, `export` names every initializer after its parameter: `NAME.T` if it is transposed,
`MODULE+MODULE.weight` if several are stacked, `NAME.scaled` if a table is scaled by sqrt(d_model). Within the
decoder's loop, names have the prefix `step.`. This file relies on these names alone.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from model.checkpoint import Checkpoint, CheckpointError
from model.config import Config
from model.tokenizer import PAD_ID, Tokenizer, Vocabularies
from model.transformer import Transformer

PADDED = ("embedding.weight", "projection.weight", "projection_bias")
"""Parameters that exported graphs pad to a few more tokens than the vocabulary has."""


def load(folder: Path) -> Checkpoint:
    """Load the network of a bundle from the graphs of its highest floating-point precision.

    Raises:
        CheckpointError: the bundle is unreadable, was imported, has only int8 graphs, or lacks a weight.
        ConfigError: the configuration in its manifest is invalid.
    """
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        graphs = manifest["graphs"].get("fp32") or manifest["graphs"].get("fp16")
        provenance, vocabulary = manifest["provenance"], folder / manifest["vocabulary"]
        mapping, step = provenance["config"], provenance["step"]
        target_vocabulary = manifest.get("target_vocabulary")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: not a bundle's manifest: {error!r}") from None
    if graphs is None:
        raise CheckpointError(f"{folder}: has no fp32 or fp16 graphs to take weights from")
    if provenance.get("origin"):
        raise CheckpointError(
            f"{folder}: is an imported model, whose vocabulary training does not support"
        )
    config = Config.from_stored(mapping, str(path))
    stored: dict[str, np.ndarray] = {}
    for name in (graphs["encoder"], graphs["decoder"]):
        for tensor in _initializers(onnx.load(folder / name).graph):
            stored |= _parameters(tensor)
    weights = {}
    for name, parameter in Transformer(config.model, PAD_ID).state_dict().items():
        array = stored.get(name)
        if array is None and f"{name}.scaled" in stored:  # a table that is not also the projection
            array = stored[f"{name}.scaled"].astype(np.float32) / config.model.embedding_scale
        if name == "projection_bias" and "projection.bias" in stored:
            # tokens that are never produced have -inf in the graph
            array = np.nan_to_num(stored["projection.bias"], neginf=0.0)
        if array is not None and name in PADDED:
            array = array[: config.model.vocab_size]
        if array is None or array.shape != tuple(parameter.shape):
            raise CheckpointError(
                f"{folder}: the graphs have no {name} of shape {tuple(parameter.shape)}"
            )
        weights[name] = torch.from_numpy(array.astype(np.float32))
    source = Tokenizer.load(vocabulary)
    target = Tokenizer.load(folder / target_vocabulary) if target_vocabulary else source
    return Checkpoint(config, Vocabularies(source, target), weights, step)


def _parameters(tensor: onnx.TensorProto) -> dict[str, np.ndarray]:
    """Return the parameters in an initializer, by the names they have in the network."""
    array = numpy_helper.to_array(tensor)
    name = tensor.name.removeprefix("step.").removesuffix(".T")
    if tensor.name.endswith(".T"):
        array = array.T
    module_names, _, kind = name.rpartition(".")
    if "+" not in module_names or kind not in ("weight", "bias"):
        return {name: array}
    modules = module_names.split("+")
    parts = np.split(array, len(modules))
    return {f"{module}.{kind}": part for module, part in zip(modules, parts, strict=True)}


def _initializers(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yield the initializers of a graph and of the bodies of its loops."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _initializers(attribute.g)

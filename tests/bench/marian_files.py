"""Writes a post-norm network in the layouts of Marian: float32 in an npz, int8 for intgemm in a `.bin`.

Matrices are stored as [in, out] and vectors as [1, n]. Layers are numbered from 1.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from model.network_config import ModelConfig
from model.tokenizer import BOS_ID, EOS_ID, UNK_ID
from model.transformer import Transformer

Array = np.ndarray[Any, np.dtype[Any]]
SETTINGS = "special:model.yml"
TABLE = "Wemb"
FLOAT32, INT8, INTGEMM8 = 0x0404, 0x0101, 0x4101
ALIGNMENT = 256
LARGEST = 127
"""The largest magnitude of a quantized value."""


def format_ids(vocab_size: int) -> list[int]:
    """Return this project's id for each of Marian's, whose only special tokens are the first, EOS and UNK."""
    return [EOS_ID, UNK_ID, *range(4, vocab_size)]


def write_student(folder: Path, network: Transformer, sources: Sequence[Sequence[int]]) -> None:
    """Write `model.npz` and, in int8, `model.bin`, whose input scales are calibrated on `sources`."""
    weights, settings = write_npz(folder / "model.npz", network)
    largest = _largest_inputs(network, _names(network), sources)
    (folder / "model.bin").write_bytes(_packed(weights, largest, settings))


def write_npz(path: Path, network: Transformer) -> tuple[dict[str, Array], bytes]:
    """Write the network in float32, and return the stored weights and configuration."""
    settings = json.dumps(_settings(network.config)).encode() + b"\0"
    tensors = _tensors(network, _names(network))
    weights = {name: _stored(tensor.detach().numpy()) for name, tensor in tensors}
    table = network.embedding.weight.detach().numpy()[format_ids(network.config.vocab_size)]
    weights |= {TABLE: table, "decoder_ff_logit_out_b": np.zeros((1, len(table)), np.float32)}
    arrays: dict[str, Any] = {**weights, SETTINGS: np.frombuffer(settings, np.int8)}
    np.savez(path, **arrays)
    return weights, settings


def _settings(sizes: ModelConfig) -> dict[str, Any]:
    """Return Marian's configuration. It requires some settings that do not apply to this network."""
    size = len(format_ids(sizes.vocab_size))
    off: tuple[str, ...] = (
        "layer-normalization",
        "skip",
        "right-left",
        "tied-embeddings",
        "tied-embeddings-src",
    )
    off += ("transformer-no-projection", "transformer-train-positions", "transformer-aan-nogate")
    off += ("output-omit-bias", "ulr", "ulr-trainable-transformation")
    return dict.fromkeys(off, False) | {
        "type": "transformer",
        "dim-vocabs": [size, size],
        "dim-emb": sizes.d_model,
        "enc-depth": sizes.num_encoder_layers,
        "dec-depth": sizes.num_decoder_layers,
        "transformer-heads": sizes.num_heads,
        "transformer-dim-ffn": sizes.d_ff,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": sizes.activation,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "",
        "transformer-decoder-autoreg": "rnn" if sizes.decoder_cell == "ssru" else "self-attention",
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "transformer-dim-aan": sizes.d_ff,
        "transformer-aan-depth": 2,
        "transformer-aan-activation": sizes.activation,
        "dec-cell": "ssru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "enc-type": "bidirectional",
        "dim-rnn": 1024,
        "input-types": [],
        "tied-embeddings-all": True,
        "lemma-dim-emb": 0,
        "ulr-dim-emb": 0,
        "bert-train-type-embeddings": True,
        "bert-type-vocab-size": 2,
        "factors-combine": "sum",
        "factors-dim-emb": 0,
        "version": "v1.9.56",
    }


def _names(network: Transformer) -> dict[str, str]:
    """Return Marian's name of each module; braces stand for the W or b of linear layers."""
    names: dict[str, str] = {}
    for stack, depth in (("encoder", len(network.encoder)), ("decoder", len(network.decoder))):
        for index in range(depth):
            ours, theirs = f"{stack}.{index}", f"{stack}_l{index + 1}"
            attentions = {"self_attention": ("self", "norm_1")}
            if stack == "decoder" and network.config.decoder_cell == "ssru":
                attentions = {}
                names |= {
                    f"{ours}.recurrence.w": f"{theirs}_rnn_{{}}",
                    f"{ours}.recurrence.w_f": f"{theirs}_rnn_{{}}f",
                    f"{ours}.norm_1": f"{theirs}_rnn_ffn",
                }
            if stack == "decoder":
                attentions["cross_attention"] = ("context", "norm_2")
            for name, (kind, norm) in attentions.items():
                names |= {
                    f"{ours}.{name}.w_{part}": f"{theirs}_{kind}_{{}}{part}" for part in "qkvo"
                }
                names[f"{ours}.{norm}"] = f"{theirs}_{kind}_Wo"
            names |= {
                f"{ours}.feed_forward.w_{number}": f"{theirs}_ffn_{{}}{number}" for number in "12"
            }
            names[f"{ours}.norm_{2 if stack == 'encoder' else 3}"] = f"{theirs}_ffn_ffn"
    return names


def _tensors(network: Transformer, names: Mapping[str, str]) -> Iterator[tuple[str, torch.Tensor]]:
    for ours, theirs in names.items():
        module = network.get_submodule(ours)
        for kind, tensor in module.named_parameters():
            if isinstance(module, nn.LayerNorm):
                yield f"{theirs}_ln_{'scale' if kind == 'weight' else 'bias'}", tensor
            else:
                yield theirs.format("W" if kind == "weight" else "b"), tensor


def _stored(values: Array) -> Array:
    return np.ascontiguousarray(values.T) if values.ndim == 2 else values[None]


@torch.inference_mode()
def _largest_inputs(
    network: Transformer, names: Mapping[str, str], sources: Sequence[Sequence[int]]
) -> dict[str, float]:
    """Find the largest absolute input of each matrix, with the sources also used as targets."""
    largest: dict[str, float] = {}

    def watch(name: str) -> Any:
        def see(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            largest[name] = max(largest.get(name, 0.0), inputs[0].abs().max().item())

        return see

    linear = {name: network.get_submodule(name) for name in names}
    hooks = [
        module.register_forward_pre_hook(watch(names[name].format("W")))
        for name, module in linear.items()
        if isinstance(module, nn.Linear)
    ]
    for source in sources:
        row = torch.tensor([source])
        begun = torch.tensor([[BOS_ID, *source[:-1]]])
        states = network.decode(begun, network.encode(row), row)
        largest[TABLE] = max(largest.get(TABLE, 0.0), states.abs().max().item())
    for hook in hooks:
        hook.remove()
    return largest


def _packed(weights: Mapping[str, Array], largest: Mapping[str, float], settings: bytes) -> bytes:
    """Return Marian's binary model, version 1: headers, names, shapes, and tensors aligned to 256 bytes."""
    items: list[tuple[str, int, tuple[int, ...], bytes]] = [
        (SETTINGS, INT8, (len(settings),), settings)
    ]
    for name, values in weights.items():
        if name in largest:
            items.append((name, INTGEMM8, values.shape, _intgemm(values, is_table=name == TABLE)))
            scale = struct.pack("<f", LARGEST / largest[name])
            items.append((f"{name}_QuantMultA", FLOAT32, (1, 1), scale))
        else:
            items.append((name, FLOAT32, values.shape, values.tobytes()))
    items = [(name, kind, shape, _padded(data)) for name, kind, shape, data in items]
    head = struct.pack("<QQ", 1, len(items))
    for name, kind, shape, data in items:
        head += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(data))
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    gap = -(len(head) + 8) % ALIGNMENT
    head += struct.pack("<Q", gap) + bytes(gap)
    return head + b"".join(data for *_, data in items)


def _intgemm(values: Array, *, is_table: bool) -> bytes:
    """Quantize a matrix with one scale, stored after it. All matrices except the table are transposed."""
    scale = np.float32(LARGEST) / np.abs(values).max()
    rounded = np.rint(values * scale).clip(-LARGEST, LARGEST).astype(np.int8)
    quantized = rounded if is_table else np.ascontiguousarray(rounded.T)
    return quantized.tobytes() + struct.pack("<f", scale)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)

"""OpenNMT-py checkpoints of the toy language, which CTranslate2's own converter can read, too."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ctranslate2.converters import OpenNMTPyConverter
from torch import Tensor

from model.checkpoint import Checkpoint
from model.transformer import Transformer
from tests.export.importers.ctranslate2_peer import learnt_network, untrained_network
from tests.export.importers.reshaping import with_sizes

EPSILON = 1e-6
ATTENTION = {
    "w_q": "linear_query",
    "w_k": "linear_keys",
    "w_v": "linear_values",
    "w_o": "final_linear",
}
PARTS = {
    "encoder": {
        "self_attention": "self_attn",
        "norm_1": "layer_norm",
        "norm_2": "feed_forward.layer_norm",
    },
    "decoder": {
        "self_attention": "self_attn",
        "cross_attention": "context_attn",
        "norm_1": "layer_norm_1",
        "norm_2": "layer_norm_2",
        "norm_3": "feed_forward.layer_norm",
    },
}
SHAPES: dict[str, dict[str, Any]] = {
    "interleaved": {},
    "biases": {"biases": True, "activation": "gelu"},
    "halves": {
        "position_layout": "halves",
        "position_exponent": "inclusive",
        "num_decoder_layers": 2,
    },
    "target": {"embeddings": "target", "biases": True},
    "separate": {"embeddings": "separate"},
}


def write_folder(
    folder: Path, *, biases: bool = False, learnt: bool = False, **variants: Any
) -> Path:
    """Write a folder with a checkpoint and its SentencePiece model; the network is random or `learnt`."""
    variants = {"norm": "pre", "layer_norm_epsilon": EPSILON, "projection_bias": True, **variants}
    if learnt:
        network, names = learnt_network(folder, **variants)
    else:
        network, _, names = untrained_network(folder, **variants)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                if parameter.dim() == 2:
                    table = "embedding" in name or "projection" in name
                    parameter.normal_(std=0.6 if table else parameter.shape[1] ** -0.5)
                else:
                    is_norm = "norm" in name and "weight" in name
                    is_bias = name.endswith(".bias") and "norm" not in name
                    parameter.normal_(is_norm, 0.1 * (biases or not is_bias))
    save(network, names, folder / "model_step_100.pt", biases=biases or learnt)
    return folder


def write_network(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a trained pre-norm network as a checkpoint; without tags, it infers the target language."""
    folder.mkdir(parents=True)
    vocabulary = checkpoint.vocabularies.source
    bias = {"projection_bias": torch.zeros(vocabulary.vocab_size)}
    biased = with_sizes(checkpoint, {**checkpoint.weights, **bias}, projection_bias=True)
    pieces = [vocabulary.processor.id_to_piece(id) for id in range(vocabulary.vocab_size)]
    save(biased.network(), ["<blank>", *pieces[1:]], folder / "model_step_100.pt", biases=True)
    (folder / "sentencepiece.model").write_bytes(vocabulary.model)


def save(network: Transformer, names: list[str], path: Path, *, biases: bool) -> None:
    """Write the checkpoint that OpenNMT-py would have saved of the same network."""
    config, state = network.config, network.state_dict()
    weights = {
        theirs(name): tensor
        for name, tensor in state.items()
        if name.count(".") > 1 or "_norm." in name
    }
    if not biases:
        weights = {
            name: one for name, one in weights.items() if "norm" in name or ".bias" not in name
        }
    read = state.get("source_embedding.weight", state["embedding.weight"])
    for stack, table in (("encoder", read), ("decoder", state["embedding.weight"])):
        weights[f"{stack}.embeddings.make_embedding.emb_luts.0.weight"] = table
        weights[f"{stack}.embeddings.make_embedding.pe.pe"] = encodings(
            config.d_model, config.position_layout
        )
    generator = {
        "weight": state.get("projection.weight", state["embedding.weight"]),
        "bias": state["projection_bias"],
    }
    interleaved = config.position_layout == "interleaved"
    options = argparse.Namespace(
        model_task="seq2seq",
        encoder_type="transformer",
        decoder_type="transformer",
        enc_layers=config.num_encoder_layers,
        dec_layers=config.num_decoder_layers,
        enc_hid_size=config.d_model,
        dec_hid_size=config.d_model,
        src_word_vec_size=config.d_model,
        tgt_word_vec_size=config.d_model,
        heads=config.num_heads,
        transformer_ff=config.d_ff,
        pos_ffn_activation_fn=config.activation,
        position_encoding=True,
        position_encoding_type="SinusoidalInterleaved" if interleaved else "SinusoidalConcat",
        max_relative_positions=0,
        self_attn_type="scaled-dot",
        layer_norm="standard",
        norm_eps=EPSILON,
        dropout=[0.1],
    )
    vocabulary = {"src": names, "tgt": names, "data_task": "seq2seq", "decoder_start_token": "<s>"}
    torch.save(
        {
            "model": weights,
            "generator": generator,
            "vocab": vocabulary,
            "opt": options,
            "optim": {},
        },
        path,
    )


def theirs(name: str) -> str:
    """Return OpenNMT-py's name of a layer's parameter, or of the norm after a stack."""
    stack, *rest = name.split(".")
    if stack.endswith("_norm"):
        return f"{stack.removesuffix('_norm')}.layer_norm.{rest[0]}"
    layer, part, *last = rest
    place = {"encoder": "encoder.transformer", "decoder": "decoder.transformer_layers"}[stack]
    named = ".".join(ATTENTION.get(one, one) for one in last)
    return f"{place}.{layer}.{PARTS[stack].get(part, part)}.{named}"


def encodings(width: int, layout: str, count: int = 5000) -> Tensor:
    """Return position encodings as stored by OpenNMT-py: [count, 1, width]."""
    half = width // 2
    steps = half if layout == "interleaved" else half - 1
    angles = np.arange(count)[:, None] / 10000.0 ** (np.arange(half) / steps)
    found = np.concatenate((np.sin(angles), np.cos(angles)), axis=1)
    if layout == "interleaved":
        found[:, 0::2], found[:, 1::2] = np.sin(angles), np.cos(angles)
    return torch.from_numpy(found.astype(np.float32))[:, None]


def converted(folder: Path, out: Path) -> Path:
    """Convert the checkpoint with CTranslate2's converter, and add the epsilon, which it leaves out."""
    converter = OpenNMTPyConverter(str(folder / "model_step_100.pt"), unsafe_deserialization=True)
    converter.convert(str(out))
    converted_config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(
        json.dumps({**converted_config, "layer_norm_epsilon": EPSILON})
    )
    (out / "sentencepiece.model").write_bytes((folder / "sentencepiece.model").read_bytes())
    return out

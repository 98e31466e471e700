"""Random models of the toy language in Marian's own format."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests import toy
from tests.export.importers.marian_folders import train_spm, write_spm
from tests.export.importers.marian_npz_reference import Array, Reference, tables_of

YML = "special:model.yml"
CONFIG: dict[str, Any] = {
    "type": "transformer",
    "dim-emb": 32,
    "enc-depth": 2,
    "dec-depth": 2,
    "transformer-heads": 4,
    "transformer-dim-ffn": 48,
    "transformer-ffn-depth": 2,
    "transformer-decoder-autoreg": "self-attention",
    "tied-embeddings-all": True,
    "right-left": False,
    "input-types": [],
    "version": "v1.9.0",
}
"""Activation and order of the sub-layers are missing: their defaults are Marian's."""
SHAPES: dict[str, dict[str, Any]] = {
    "opus": {},
    "relu-deep-encoder": {
        "transformer-ffn-activation": "relu",
        "enc-depth": 3,
        "dec-depth": 1,
        "transformer-heads": 2,
        "dim-emb": 24,
    },
    "separate": {"tied-embeddings-all": False, "tied-embeddings": True},
    "untied": {"tied-embeddings-all": False, "output-omit-bias": True},
    "untied-old": {"tied-embeddings-all": False, "tied-embeddings-src": True},
    "pre-norm": {"transformer-preprocess": "n", "transformer-postprocess": "da"},
    "pre-norm-gelu-top": {
        "transformer-preprocess": "nd",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
        "transformer-ffn-activation": "gelu",
    },
    "student": {
        "transformer-decoder-autoreg": "rnn",
        "dec-cell": "ssru",
        "transformer-ffn-activation": "relu",
        "transformer-decoder-dim-ffn": 48,
        "transformer-decoder-ffn-depth": 0,
        "dec-depth": 3,
    },
    "pre-norm-student": {
        "transformer-decoder-autoreg": "rnn",
        "dec-cell": "ssru",
        "transformer-preprocess": "n",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
    },
    "post-norm-top": {"transformer-postprocess-top": "n", "transformer-tied-layers": [1, 1]},
}
DECODER = {"beam-size": 4, "normalize": 1, "word-penalty": 0, "mini-batch": 1}


def write_model(
    folder: Path,
    *,
    seed: int = 0,
    write_pieces: Callable[[Path], list[list[str]]] | None = None,
    **changes: Any,
) -> Reference:
    """Write a folder as in OPUS-MT's archives, and return its model.

    `write_pieces` writes vocabularies other than SentencePiece's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {**CONFIG, **changes}
    separate = tables_of(config)[0] == "encoder_Wemb"
    pieces = write_pieces(folder) if write_pieces else write_vocabularies(folder, separate=separate)
    config["dim-vocabs"] = [len(one) for one in pieces]
    reference = write_npz(folder / "model.npz", config, seed)
    names = (
        ["src.vocab.yml", "trg.vocab.yml"]
        if len(pieces[0]) != len(pieces[1])
        else ["vocab.yml"] * 2
    )
    decoder = {"models": ["/home/somebody/model.npz"], "vocabs": names, **DECODER}
    (folder / "decoder.yml").write_text(json.dumps(decoder, indent=1))
    readme = "# opus-2020-02-26.zip\n\n* source language(s): deu\n* target language(s): eng\n"
    (folder / "README.md").write_text(readme)
    (folder / "LICENSE").write_text(
        "Attribution 4.0 International\n\n====\n\nCreative Commons ...\n"
    )
    return reference


def write_student(folder: Path, *, seed: int = 0, **changes: Any) -> Reference:
    """Write a folder as the training of Firefox's students leaves it, and return its model."""
    folder.mkdir(parents=True)
    lines = [line for pair in toy.sentences() for line in pair]
    special = {"eos_id": 0, "unk_id": 1, "bos_id": -1}
    (folder / "vocab.deen.spm").write_bytes(train_spm(lines, 60, **special))
    config = {**CONFIG, **SHAPES["student"], "dim-vocabs": [60, 60], **changes}
    reference = write_npz(folder / "final.model.npz.best-chrf.npz", config, seed)
    save(folder / "final.model.npz.optimizer.npz", {})
    (folder / "metadata.json").write_text('{"sourceLanguage": "de", "targetLanguage": "en"}')
    return reference


def write_npz(path: Path, config: dict[str, Any], seed: int) -> Reference:
    weights = random_weights(config, seed)
    text = json.dumps(config).encode() + b"\0"
    save(path, {**weights, YML: np.frombuffer(text, np.int8)})
    return Reference(config, {name: one.astype(np.float64) for name, one in weights.items()})


def save(path: Path, arrays: Mapping[str, Any]) -> None:
    np.savez(path, allow_pickle=True, **arrays)


def write_vocabularies(folder: Path, *, separate: bool) -> list[list[str]]:
    """Write `source.spm`, `target.spm` and their pieces' ids, the same for both unless `separate`."""
    sides = write_spm(folder)
    if not separate:
        sides = [list(dict.fromkeys([*sides[1], *reversed(sides[0])]))] * 2
    listed = [["</s>", "<unk>", *one] for one in sides]
    files = ("src.vocab.yml", "trg.vocab.yml") if separate else ("vocab.yml",)
    for name, pieces in zip(files, listed, strict=False):
        lines = [f"{_quoted(piece)}: {id}\n" for id, piece in enumerate(pieces)]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return listed


def _quoted(piece: str) -> str:
    """Quote some pieces, as YAML writers do."""
    return json.dumps(piece, ensure_ascii=len(piece) % 2 == 0) if piece[0] in '"<.' else piece


def random_weights(config: dict[str, Any], seed: int) -> dict[str, Array]:
    """Return random tensors by Marian's names, sharp enough not to repeat one token."""
    rng = np.random.default_rng(seed)
    width, wide = config["dim-emb"], config["transformer-dim-ffn"]
    found: dict[str, Array] = {}

    def put(name: str, *shape: int, mean: float = 0.0, std: float = 0.1) -> None:
        found[name] = rng.normal(mean, std, shape).astype(np.float32)

    def norm(name: str, kind: str = "") -> None:
        put(f"{name}_ln_scale{kind}", 1, width, mean=1.0)
        put(f"{name}_ln_bias{kind}", 1, width)

    def around(name: str) -> None:
        if "n" in config.get("transformer-preprocess", ""):
            norm(name, "_pre")
        if "n" in config.get("transformer-postprocess", "dan"):
            norm(name)

    def dense(name: str, part: str, inputs: int, outputs: int) -> None:
        put(f"{name}_W{part}", inputs, outputs, std=inputs**-0.5)
        put(f"{name}_b{part}", 1, outputs)

    def attention(name: str) -> None:
        for part in "qkvo":
            dense(name, part, width, width)
        around(f"{name}_Wo")

    for stack, depth in (("encoder", config["enc-depth"]), ("decoder", config["dec-depth"])):
        tied = config.get("transformer-tied-layers") or []
        for number in sorted(set(tied)) if stack == "decoder" and tied else range(1, depth + 1):
            layer = f"{stack}_l{number}"
            if stack == "decoder" and config["transformer-decoder-autoreg"] == "rnn":
                put(f"{layer}_rnn_W", width, width, std=1.5 * width**-0.5)
                dense(f"{layer}_rnn", "f", width, width)
                is_pre = "n" in config.get("transformer-preprocess", "")
                norm(f"{layer}_rnn" if is_pre else f"{layer}_rnn_ffn", "_pre" if is_pre else "")
            else:
                attention(f"{layer}_self")
            if stack == "decoder":
                attention(f"{layer}_context")
            dense(f"{layer}_ffn", "1", width, wide)
            dense(f"{layer}_ffn", "2", wide, width)
            around(f"{layer}_ffn_ffn")
        if config.get("transformer-postprocess-top"):
            norm(f"{stack}_top")
    is_normed = "n" in config.get("transformer-postprocess", "dan") + config.get(
        "transformer-postprocess-top", ""
    )
    sizes = dict(zip(tables_of(config), config["dim-vocabs"], strict=True))
    for name, size in sizes.items():
        put(name, size, width, std=0.4 if is_normed else 0.1)
    size = config["dim-vocabs"][1]
    if not (config.get("tied-embeddings-all") or config.get("tied-embeddings")):
        is_old = config.get("tied-embeddings-src")
        shape = (width, size) if is_old else (size, width)
        put("decoder_ff_logit_out_W" if is_old else "decoder_ff_logit_out_Wt", *shape, std=0.4)
    if not config.get("output-omit-bias"):
        put("decoder_ff_logit_out_b", 1, size, std=0.5)
        found["decoder_ff_logit_out_b"][0, 1] = 3.0  # <unk> would be likely if it were allowed
        found["decoder_ff_logit_out_b"][0, 0] = 0.5
    for name in found.keys() & {*sizes, "decoder_ff_logit_out_Wt"}:
        found[name][0] *= 3.0  # the logit of </s> varies much, so that some sentences end
    return found

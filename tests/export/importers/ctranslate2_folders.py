"""Folders of random CTranslate2 models of the toy language, made with CTranslate2's own specifications."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation

from tests import toy
from tests.export.importers.marian_folders import train_spm

D_MODEL, D_FF, POSITIONS = 32, 48, 200
SHAPES: dict[str, dict[str, Any]] = {
    "opennmt": {},
    "opus": {
        "pre_norm": False,
        "activation": Activation.SWISH,
        "zero_start": True,
        "tokens": {"decoder_start_token": "</s>", "add_source_eos": True},
        "positions": None,
    },
    "fairseq": {
        "pre_norm": False,
        "activation": Activation.GELU,
        "scale": 1.0,
        "tied": "target",
        "tokens": {"decoder_start_token": "</s>", "layer_norm_epsilon": 0.01},
    },
    "marian": {"activation": Activation.GELUSigmoid, "zero_start": True, "positions": None},
    "tensorflow": {
        "activation": Activation.GELUTanh,
        "layers": (3, 1),
        "heads": 2,
        "tied": "separate",
        "separate": True,
        "positions": None,
        "tokens": {"add_source_bos": True, "add_source_eos": True},
    },
}


def write_folder(
    folder: Path,
    *,
    seed: int = 0,
    pre_norm: bool = True,
    activation: Activation = Activation.RELU,
    layers: tuple[int, int] = (2, 2),
    heads: int = 4,
    tied: str = "shared",
    separate: bool = False,
    zero_start: bool = False,
    scale: Any = True,
    positions: int | None = POSITIONS,
    biases: bool = True,
    ending: float = 2.0,
    quantization: str | None = None,
    extra: Sequence[str] = (),
    tokens: dict[str, Any] | None = None,
    **more: Any,
) -> Path:
    """Write a folder with its SentencePiece model; `ending` is added to the logit of EOS."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    names = write_vocabulary(folder, extra)
    spec = TransformerSpec.from_config(
        layers, heads, pre_norm=pre_norm, activation=activation, **more
    )
    target = [*names[:4], *reversed(names[4:]), "more"] if separate else names
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(target)
    for key, value in (tokens or {}).items():
        setattr(spec.config, key, value)
    table = rng.normal(0, 0.6, (len(names), D_MODEL)).astype(np.float32)
    other = rng.normal(0, 0.6, (len(target), D_MODEL)).astype(np.float32)
    written = table if tied == "shared" else other
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = written
    spec.decoder.projection.weight = (
        rng.normal(0, 0.6, written.shape).astype(np.float32) if tied == "separate" else written
    )
    bias = rng.normal(0, 0.5, len(target)).astype(np.float32)
    bias[target.index("</s>")] += ending
    spec.decoder.projection.bias = bias
    spec.decoder.start_from_zero_embedding = zero_start
    for stack in (spec.encoder, spec.decoder):
        stack.scale_embeddings = scale
        if positions:
            encodings = rng.normal(0, 0.7, (positions, D_MODEL))
            stack.position_encodings.encodings = encodings.astype(np.float32)
        if pre_norm:
            fill_norm(stack.layer_norm, rng)
        for layer in stack.layer:
            fill_attention(layer.self_attention, (3, 1), rng, biases)
            if stack is spec.decoder:
                fill_attention(layer.attention, (1, 2, 1), rng, biases)
            fill_linear(layer.ffn.linear_0, D_FF, D_MODEL, rng, biases)
            fill_linear(layer.ffn.linear_1, D_MODEL, D_FF, rng, biases)
            fill_norm(layer.ffn.layer_norm, rng)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    return folder


def write_vocabulary(folder: Path, extra: Sequence[str] = ()) -> list[str]:
    """Write the SentencePiece model of both sides, and the tokens in a different order."""
    lines = sorted({side for pair in toy.sentences() for side in pair})
    data = train_spm(lines, 70)
    (folder / "sentencepiece.model").write_bytes(data)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces = [processor.id_to_piece(id) for id in range(processor.vocab_size())]
    texts = [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]
    return ["<unk>", "<blank>", "<s>", "</s>", *reversed(texts), *extra]


def fill_attention(
    spec: Any, widths: Sequence[int], rng: np.random.Generator, biases: bool
) -> None:
    for linear, width in zip(spec.linear, widths, strict=True):
        fill_linear(linear, width * D_MODEL, D_MODEL, rng, biases)
    fill_norm(spec.layer_norm, rng)


def fill_linear(spec: Any, rows: int, columns: int, rng: np.random.Generator, biases: bool) -> None:
    spec.weight = rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
    if biases:
        spec.bias = rng.normal(0, 0.1, rows).astype(np.float32)


def fill_norm(spec: Any, rng: np.random.Generator) -> None:
    spec.gamma = rng.normal(1, 0.1, D_MODEL).astype(np.float32)
    spec.beta = rng.normal(0, 0.1, D_MODEL).astype(np.float32)

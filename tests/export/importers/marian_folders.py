"""Folders of random Marian models of the toy language, made with transformers."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from model import bundle
from model.checkpoint import Checkpoint
from model.evaluate import suppressed_ids
from model.network_config import ModelConfig
from model.tokenizer import BOS_ID, EOS_ID
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.export.importers.reshaping import with_halves

SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 128,
    "activation_function": "swish",
    "scale_embedding": True,
    "dropout": 0.0,
}
SHAPES: dict[str, dict[str, Any]] = {
    "opus": {},
    "relu": {
        "activation_function": "relu",
        "encoder_layers": 3,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
    },
    "separate": {"separate": True},
    "untied": {"tie_word_embeddings": False, "scale_embedding": False},
    "separate-untied-gelu": {
        "separate": True,
        "tie_word_embeddings": False,
        "activation_function": "gelu",
        "d_model": 48,
    },
}


def train_spm(lines: Sequence[str], vocab_size: int, **options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=vocab_size,
        character_coverage=1.0,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def write_spm(folder: Path) -> list[list[str]]:
    """Write `source.spm` and `target.spm` of the toy language; return the text pieces of each."""
    german, english = (sorted(set(side)) for side in zip(*toy.sentences(), strict=True))
    sides = []
    for name, lines, size in (("source", german, 43), ("target", english, 36)):
        data = train_spm(lines, size)
        (folder / f"{name}.spm").write_bytes(data)
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces = [processor.id_to_piece(id) for id in range(processor.vocab_size())]
        sides.append([one for one in pieces if one not in ("<unk>", "<s>", "</s>")])
    return sides


def write_vocabulary(
    folder: Path, *, separate: bool = False, tags: Sequence[str] = ()
) -> tuple[dict[str, int], dict[str, int]]:
    """Write `source.spm`, `target.spm` and the ids of their pieces, which differ from SentencePiece's."""
    sides = write_spm(folder)
    if not separate:
        joint = list(dict.fromkeys([*sides[1], *tags, *reversed(sides[0])]))
        sides = [joint, joint]
    listed = [["</s>", "<unk>", *one, "<pad>"] for one in sides]
    if separate:
        most = max(map(len, listed))
        listed = [
            one[:-1] + [f"<unused{n}>" for n in range(most - len(one))] + one[-1:] for one in listed
        ]
    ids = [{piece: id for id, piece in enumerate(one)} for one in listed]
    (folder / "vocab.json").write_text(json.dumps(ids[0]), encoding="utf-8")
    if separate:
        (folder / "target_vocab.json").write_text(json.dumps(ids[1]), encoding="utf-8")
    return ids[0], ids[1]


def write_folder(
    folder: Path,
    *,
    seed: int = 0,
    separate: bool = False,
    tags: Sequence[str] = (),
    languages: tuple[str, str] | None = ("de", "en"),
    **changes: Any,
) -> Any:
    """Write a complete folder, and return its model."""
    folder.mkdir(parents=True, exist_ok=True)
    _, target_ids = write_vocabulary(folder, separate=separate, tags=tags)
    size = len(target_ids)
    config = transformers.MarianConfig(
        vocab_size=size,
        decoder_vocab_size=size,
        pad_token_id=size - 1,
        decoder_start_token_id=size - 1,
        eos_token_id=0,
        share_encoder_decoder_embeddings=not separate,
        **{**SIZES, **changes},
    )
    torch.manual_seed(seed)
    model: Any = transformers.MarianMTModel(config).eval()
    randomize(model, size)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=size - 1,
        eos_token_id=0,
        pad_token_id=size - 1,
        bad_words_ids=[[size - 1]],
        num_beams=4,
        max_length=100,
    )
    model.save_pretrained(folder)
    codes = dict(zip(("source_lang", "target_lang"), languages, strict=True)) if languages else {}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**codes, "separate_vocabs": separate})
    )
    (folder / "README.md").write_text("---\nlanguage: de\nlicense: cc-by-4.0\n---\n# A model\n")
    return model


@torch.no_grad()
def randomize(model: Any, size: int) -> None:
    """Set random weights, sharp enough not to repeat one token, with biases that are not zero."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "embed_positions" not in name:
            table = "embed_tokens" in name or "shared" in name or "lm_head" in name
            std = 0.6 if table else parameter.shape[1] ** -0.5
            parameter.normal_(std=std)
        elif name.endswith("bias"):
            parameter.normal_(std=0.1)
        elif "layer_norm" in name:
            parameter.normal_(mean=1.0, std=0.1)
    for table in {model.get_input_embeddings().weight, model.model.decoder.embed_tokens.weight}:
        table[size - 1] = 0.0
    model.final_logits_bias.normal_(std=0.5)
    model.final_logits_bias[0, size - 1] = 2.0  # padding would be likely if it were allowed


def write_toy_folder(folder: Path) -> Any:
    """Write the tiny bundle's network, which is trained on the toy language, as a folder."""
    return write_network(folder, bundle.load(TINY_BUNDLE))


def write_network(folder: Path, checkpoint: Checkpoint) -> Any:
    """Write a trained post-norm network as a folder, with reordered ids; return transformers' model."""
    folder.mkdir(parents=True)
    checkpoint = with_halves(checkpoint)
    sizes, weights = checkpoint.config.model, checkpoint.weights
    last = sizes.vocab_size - 1
    config = transformers.MarianConfig(
        **sizes_of(sizes),
        vocab_size=sizes.vocab_size,
        pad_token_id=last,
        decoder_start_token_id=last - BOS_ID,
        eos_token_id=last - EOS_ID,
    )
    model: Any = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        model.model.shared.weight.copy_(weights["embedding.weight"].flip(0))
        copy_layers(model, weights)
    processor = checkpoint.vocabularies.source.processor
    tags = {"<2de>": ">>deu<<", "<2en>": ">>eng<<"}
    pieces = [processor.id_to_piece(id) for id in range(sizes.vocab_size)]
    ids = {tags.get(piece, piece): last - id for id, piece in enumerate(pieces)}
    never = suppressed_ids(checkpoint.vocabularies, checkpoint.config)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=last - BOS_ID,
        eos_token_id=last - EOS_ID,
        pad_token_id=last,
        bad_words_ids=[[last - id] for id in never],
        num_beams=6,
        max_length=100,
    )
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(checkpoint.vocabularies.source.model)
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "mul"}))
    (folder / "README.md").write_text("---\nlanguage: de\nlicense: cc-by-4.0\n---\n# A model\n")
    return model


def sizes_of(sizes: ModelConfig) -> dict[str, Any]:
    """Return a network's sizes as in configurations of transformers."""
    return {
        "d_model": sizes.d_model,
        "encoder_layers": sizes.num_encoder_layers,
        "decoder_layers": sizes.num_decoder_layers,
        "encoder_attention_heads": sizes.num_heads,
        "decoder_attention_heads": sizes.num_heads,
        "encoder_ffn_dim": sizes.d_ff,
        "decoder_ffn_dim": sizes.d_ff,
        "max_position_embeddings": min(sizes.max_positions, 512),
        "activation_function": sizes.activation,
        "scale_embedding": sizes.scaled_embeddings,
    }


def copy_layers(model: Any, weights: Mapping[str, torch.Tensor]) -> None:
    """Copy encoder and decoder into a network of transformers with fairseq's parameter names."""
    for side in ("encoder", "decoder"):
        stack = getattr(model.model, side)
        for index, layer in enumerate(stack.layers):
            kinds = [("self_attn", "self_attention")]
            kinds += [("encoder_attn", "cross_attention")] if side == "decoder" else []
            for number, (theirs, ours) in enumerate(kinds, start=1):
                attention, name = getattr(layer, theirs), f"{side}.{index}.{ours}"
                for part in "qkv":
                    _copy(getattr(attention, f"{part}_proj"), weights, f"{name}.w_{part}")
                _copy(attention.out_proj, weights, f"{name}.w_o")
                norm = getattr(layer, f"{theirs}_layer_norm")
                _copy(norm, weights, f"{side}.{index}.norm_{number}")
            _copy(layer.fc1, weights, f"{side}.{index}.feed_forward.w_1")
            _copy(layer.fc2, weights, f"{side}.{index}.feed_forward.w_2")
            _copy(layer.final_layer_norm, weights, f"{side}.{index}.norm_{len(kinds) + 1}")
        if f"{side}_norm.weight" in weights:
            _copy(stack.layer_norm, weights, f"{side}_norm")


def _copy(module: Any, weights: Mapping[str, torch.Tensor], name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])

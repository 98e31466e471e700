"""fairseq checkpoints of the toy language, made from networks of transformers that are ports of fairseq's.

M2M-100 is fairseq's pre-norm Transformer, FSMT its post-norm one; both keep its parameter names.
"""

import argparse
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from model.checkpoint import Checkpoint
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from tests import toy
from tests.export.importers.marian_folders import copy_layers, sizes_of, train_spm
from tests.export.importers.reshaping import with_halves

SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 128,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
SHAPES: dict[str, dict[str, Any]] = {
    "post": {},
    "post-tied-unscaled": {"tied": True, "scale_embedding": False},
    "pre": {"pre_norm": True},
    "pre-gelu": {"pre_norm": True, "activation_function": "gelu", "new": True},
}
STEPS, BATCH = 150, 24


def write_folder(
    folder: Path,
    *,
    pre_norm: bool = False,
    tied: bool = False,
    new: bool = False,
    learnt: bool = False,
    **changes: Any,
) -> Any:
    """Write a checkpoint, its dictionaries and its SentencePiece models; return transformers' network.

    `new` stores the options as newer versions do; `learnt` trains the network for a few seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    german, english = (sorted(set(side)) for side in zip(*toy.sentences(), strict=True))
    texts = [german + english] * 2 if pre_norm else [german, english]
    sizes = [
        _write_side(folder, code, train_spm(lines, 70 if pre_norm else size))
        for code, lines, size in zip(("de", "en"), texts, (43, 36), strict=True)
    ]
    options = {**SIZES, "activation_function": "relu", **changes}
    torch.manual_seed(0)
    if pre_norm:
        config: Any = transformers.M2M100Config(vocab_size=sizes[0], **options)
        model: Any = transformers.M2M100ForConditionalGeneration(config)
    else:
        config = transformers.FSMTConfig(
            src_vocab_size=sizes[0], tgt_vocab_size=sizes[1], forced_eos_token_id=None, **options
        )
        model = transformers.FSMTForConditionalGeneration(config)
        if tied:
            model.model.decoder.output_projection.weight = model.model.decoder.embed_tokens.weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                is_norm = "norm" in name and "weight" in name
                wide = parameter.shape[-1] ** -0.5 if learnt or "embed" not in name else 0.6
                parameter.normal_(is_norm, wide if parameter.dim() == 2 else 0.1)
    if learnt:
        train(model, folder)
    model.eval()
    torch.save(checkpoint_of(model, tied=tied, new=new), folder / "checkpoint_best.pt")
    return model


def write_network(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a trained post-norm network as a checkpoint, from German to English.

    A translation begins with `</s>` there, which gets the vector of BOS. So the target has its own table.
    """
    folder.mkdir(parents=True)
    checkpoint = with_halves(checkpoint, position_exponent="inclusive", position_offset=2)
    data = checkpoint.vocabularies.source.model
    for code in ("de", "en"):
        size = _write_side(folder, code, data)
    config: Any = transformers.FSMTConfig(
        **{**SIZES, **sizes_of(checkpoint.config.model), "forced_eos_token_id": None},
        src_vocab_size=size,
        tgt_vocab_size=size,
    )
    model: Any = transformers.FSMTForConditionalGeneration(config)
    _, pieces = _side(folder, "de")
    order = [
        BOS_ID,
        PAD_ID,
        EOS_ID,
        UNK_ID,
        *map(checkpoint.vocabularies.source.processor.piece_to_id, pieces),
    ]
    rows = checkpoint.weights["embedding.weight"][order]
    with torch.no_grad():
        copy_layers(model, checkpoint.weights)
        for table in (
            model.model.encoder.embed_tokens,
            model.model.decoder.embed_tokens,
            model.model.decoder.output_projection,
        ):
            table.weight = torch.nn.Parameter(rows.clone())
        model.model.decoder.embed_tokens.weight[2] = rows[0]
    torch.save(checkpoint_of(model), folder / "checkpoint_best.pt")


def _write_side(folder: Path, code: str, data: bytes) -> int:
    """Write the SentencePiece model and the dictionary of a side; return the number of ids."""
    (folder / f"spm.{code}.model").write_bytes(data)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    every = (processor.id_to_piece(id) for id in range(processor.vocab_size()))
    pieces = [piece for piece in every if piece not in ("<pad>", "<unk>", "<s>", "</s>")]
    listed = [f"{piece} {9000 - at}\n" for at, piece in enumerate(reversed(pieces))]
    (folder / f"dict.{code}.txt").write_text("".join(listed), encoding="utf-8")
    return len(pieces) + 4


def checkpoint_of(model: Any, *, tied: bool = False, new: bool = False) -> dict[str, Any]:
    """Return the checkpoint that fairseq would have saved of the same network."""
    config = model.config
    is_pre_norm = isinstance(model, transformers.M2M100ForConditionalGeneration)
    weights = {
        name.removeprefix("model."): tensor
        for name, tensor in model.state_dict().items()
        if not name.startswith(("model.shared", "lm_head", "final_logits"))
        and "embed_positions" not in name
    }
    tables = "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
    output = weights["decoder.output_projection.weight"] if not is_pre_norm else weights[tables[0]]
    weights["decoder.output_projection.weight"] = output
    weights |= {f"{stack}.version": torch.tensor([3.0]) for stack in ("encoder", "decoder")}
    options = {
        "arch": "transformer_iwslt_de_en",
        "task": "translation",
        "source_lang": "de",
        "target_lang": "en",
        "encoder_embed_dim": config.d_model,
        "decoder_embed_dim": config.d_model,
        "encoder_ffn_embed_dim": config.encoder_ffn_dim,
        "decoder_ffn_embed_dim": config.decoder_ffn_dim,
        "encoder_attention_heads": config.encoder_attention_heads,
        "decoder_attention_heads": config.decoder_attention_heads,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_normalize_before": is_pre_norm,
        "decoder_normalize_before": is_pre_norm,
        "activation_fn": config.activation_function,
        "no_scale_embedding": not config.scale_embedding,
        "share_all_embeddings": is_pre_norm,
        "share_decoder_input_output_embed": tied,
        "max_source_positions": 1024,
        "max_target_positions": 1024,
    }
    namespace = argparse.Namespace(**options)
    task = {"_name": "translation", "source_lang": "de", "target_lang": "en"}
    configuration = (
        {"cfg": {"model": namespace, "task": task}, "args": None} if new else {"args": namespace}
    )
    return {**configuration, "model": weights, "extra_state": {"epoch": 1}, "optimizer_history": []}


def encode(folder: Path, code: str, text: str) -> list[int]:
    """Encode a text as fairseq's ids, followed by `</s>`."""
    processor, pieces = _side(folder, code)
    ids = {piece: at + 4 for at, piece in enumerate(pieces)}
    return [*(ids.get(piece, 3) for piece in processor.encode(text, out_type=str)), 2]


def decode(folder: Path, code: str, ids: list[int]) -> str:
    """Decode ids to text, without special tokens."""
    processor, pieces = _side(folder, code)
    text: str = processor.decode_pieces([pieces[id - 4] for id in ids if id > 3])
    return text.strip()


@cache
def _side(folder: Path, code: str) -> tuple[Any, list[str]]:
    """Return the SentencePiece model of a side, and the pieces of its dictionary."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"spm.{code}.model"))
    lines = (folder / f"dict.{code}.txt").read_text(encoding="utf-8").splitlines()
    return processor, [line.rpartition(" ")[0] for line in lines]


def train(model: Any, folder: Path) -> None:
    """Train from German to English, so that the network ends its sentences as real models do."""
    pairs = toy.sentences()
    source, labels = (
        _padded([encode(folder, code, pair[side]) for pair in pairs])
        for side, code in enumerate(("de", "en"))
    )
    named = model.named_parameters()  # FSMT's positions are parameters, but must not be trained
    optimizer = torch.optim.Adam(one for name, one in named if "embed_positions" not in name)
    generator = torch.Generator().manual_seed(0)
    model.train()
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 30, (STEPS - step) / 80)
        rows = torch.randint(len(pairs), (BATCH,), generator=generator)
        begin = torch.full((BATCH, 1), 2)
        logits = model(
            input_ids=source[rows],
            attention_mask=source[rows] != 1,
            decoder_input_ids=torch.cat((begin, labels[rows][:, :-1]), dim=1),
            use_cache=False,
        ).logits
        loss: Any = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels[rows].flatten(), ignore_index=1
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.3, loss.item()


def _padded(rows: list[list[int]]) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [1] * (width - len(row)) for row in rows])

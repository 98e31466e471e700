"""Folders of random M2M-100 and NLLB models of the toy language, made with transformers."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from model.checkpoint import Checkpoint
from model.tokenizer import BOS_ID
from tests import toy
from tests.export.importers import marian_folders
from tests.export.importers.marian_folders import copy_layers, sizes_of
from tests.export.importers.reshaping import with_halves

SIZES = marian_folders.SIZES | {
    "activation_function": "relu",
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}
NLLB = "deu_Latn", "eng_Latn", "fra_Latn", "por_Latn", "zho_Hans", "zho_Hant"
M2M100 = tuple(transformers.models.m2m_100.tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"])
SHAPES: dict[str, dict[str, Any]] = {
    "nllb": {},
    "m2m100": {"kind": "m2m100", "encoder_layers": 3, "decoder_layers": 1, "encoder_ffn_dim": 64,
               "decoder_ffn_dim": 64},
    "gelu": {"activation_function": "gelu", "scale_embedding": False, "d_model": 48},
}  # fmt: skip


def write_folder(
    folder: Path, *, kind: str = "nllb", seed: int = 0, ending: float = 0.0, **changes: Any
) -> Any:
    """Write a complete folder, and return its model."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = sorted({side for pair in toy.sentences() for side in pair})
    data = _train(lines, 80)
    (folder / "sentencepiece.bpe.model").write_bytes(data)
    size = write_nllb(folder, NLLB) if kind == "nllb" else write_m2m100(folder)
    config = transformers.M2M100Config(
        vocab_size=size,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        **{**SIZES, **changes},
    )
    torch.manual_seed(seed)
    model: Any = transformers.M2M100ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                table = "shared" in name or "embed_tokens" in name
                parameter.normal_(std=0.6 if table else parameter.shape[1] ** -0.5)
            else:
                parameter.normal_(mean=float("norm" in name and "weight" in name), std=0.1)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=2, eos_token_id=2, pad_token_id=1, num_beams=4, max_length=100
    )
    model.save_pretrained(folder)
    return model


def write_network(folder: Path, checkpoint: Checkpoint, source: str, target: str) -> Any:
    """Write a trained pre-norm network as M2M-100's folder, for one direction; return transformers' model.

    The tag's vector is used for the source's language token, and BOS's for the target's.
    """
    folder.mkdir(parents=True)
    checkpoint = with_halves(checkpoint, position_exponent="inclusive", position_offset=2)
    sizes, weights = checkpoint.config.model, checkpoint.weights
    vocabulary = checkpoint.vocabularies.source
    (folder / "sentencepiece.bpe.model").write_bytes(vocabulary.model)
    size = write_m2m100(folder)
    config = transformers.M2M100Config(**sizes_of(sizes), vocab_size=size, decoder_start_token_id=2)
    model: Any = transformers.M2M100ForConditionalGeneration(config).eval()
    ids: dict[str, int] = json.loads((folder / "vocab.json").read_bytes())
    first = len(ids)  # id of the first language token
    own = {id: vocabulary.processor.piece_to_id(piece) for piece, id in ids.items()}
    own |= {first + M2M100.index(source): vocabulary.tag_id(target)}
    own |= {first + M2M100.index(target): BOS_ID}
    with torch.no_grad():
        table = model.model.shared.weight
        table.zero_()[list(own)] = weights["embedding.weight"][list(own.values())]
        copy_layers(model, weights)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=2, eos_token_id=2, pad_token_id=1, num_beams=4, max_length=256
    )
    model.save_pretrained(folder)
    return model


def _train(lines: Sequence[str], vocab_size: int) -> bytes:
    """Train a BPE model, as those of M2M-100 and NLLB are."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=vocab_size,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
    )
    return model.getvalue()


def write_nllb(folder: Path, codes: Sequence[str]) -> int:
    """Write NLLB's files besides the SentencePiece model; return the number of ids."""
    tokens = {"tokenizer_class": "NllbTokenizer", "extra_special_tokens": list(codes)}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    tokenizer: Any = transformers.NllbTokenizer.from_pretrained(
        str(folder), extra_special_tokens=list(codes)
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer) + 3


def write_m2m100(folder: Path) -> int:
    """Write M2M-100's files besides the SentencePiece model; return the number of ids."""
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "sentencepiece.bpe.model")
    )
    special = {"<s>", "<pad>", "</s>", "<unk>"}
    every = (processor.id_to_piece(id) for id in range(processor.vocab_size()))
    pieces = [piece for piece in every if piece not in special]
    listed = ["<s>", "<pad>", "</s>", "<unk>", *pieces]
    ids = {piece: id for id, piece in enumerate(listed)}
    (folder / "vocab.json").write_text(json.dumps(ids))
    tags = [f"__{code}__" for code in M2M100]
    settings = {"tokenizer_class": "M2M100Tokenizer", "additional_special_tokens": tags}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": tags}))
    return len(ids) + len(tags) + 8


def train(
    model: Any,
    folder: Path,
    source: str = "deu_Latn",
    target: str = "eng_Latn",
    steps: int = 150,
    small100: bool = False,
) -> None:
    """Train from German to English, so that the network ends its sentences as real models do.

    With `small100`, `source` is the language of the source's first token, and translations begin with none.
    """
    tokenizer = tokenizer_of(folder, source)
    tokenizer.tgt_lang = target
    pairs = toy.sentences()
    batch = tokenizer(
        [german for german, _ in pairs],
        text_target=[english for _, english in pairs],
        padding=True,
        return_tensors="pt",
    )
    labels = batch.pop("labels")[:, int(small100) :]
    labels = labels.masked_fill(labels == model.config.pad_token_id, -100)
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            torch.nn.init.normal_(module.weight, std=0.1)
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 30, (steps - step) / 80)
        rows = torch.randint(len(pairs), (24,), generator=generator)
        loss = model(
            input_ids=batch["input_ids"][rows],
            attention_mask=batch["attention_mask"][rows],
            labels=labels[rows],
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(folder)


def tokenizer_of(folder: Path, source: str = "deu_Latn") -> Any:
    """Return transformers' own tokenizer."""
    return transformers.AutoTokenizer.from_pretrained(str(folder), src_lang=source)

"""CTranslate2 folders of networks trained on the toy language, and CTranslate2's translations."""

import random
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece
import torch

from model.network_config import ModelConfig
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from service.translation.guards import loops
from tests import toy
from tests.bench import peer
from tests.export.importers.marian_folders import train_spm

STEPS, BATCH = 150, 24
EXTRA_LENGTH = 50
"""Tokens by which a translation may exceed its source, as in a bundle."""


def write_learnt_folder(
    folder: Path, *, ends_source: bool = False, quantization: str | None = None, **variants: Any
) -> Path:
    """Train a network for a few seconds, and convert it as OpenNMT-py's are converted."""
    network, names = learnt_network(folder, ends_source=ends_source, **variants)
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokens |= {"decoder_start_token": "<s>"}
    return peer.convert(network, folder, quantization, names, **tokens, add_source_eos=ends_source)


def learnt_network(
    folder: Path, *, ends_source: bool = False, **variants: Any
) -> tuple[Transformer, list[str]]:
    """Train a network for a few seconds; write its SentencePiece model, and return network and tokens."""
    network, processor, names = untrained_network(folder, **variants)
    _train(network, processor, {name: id for id, name in enumerate(names)}, [EOS_ID] * ends_source)
    return network.eval(), names


def untrained_network(folder: Path, **variants: Any) -> tuple[Transformer, Any, list[str]]:
    """Write a SentencePiece model; return a random network, the model and the tokens."""
    folder.mkdir(parents=True)
    lines = sorted({side for pair in toy.sentences() for side in pair})
    (folder / "sentencepiece.model").write_bytes(train_spm(lines, 70))
    processor = _processor(folder)
    pieces = [processor.id_to_piece(id) for id in range(processor.vocab_size())]
    texts = [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]
    names = ["<blank>", "<unk>", "<s>", "</s>", *reversed(texts)]  # padding first, as in bundles
    torch.manual_seed(0)
    sizes = {"d_ff": 64, "num_heads": 4, "num_encoder_layers": 1, "num_decoder_layers": 1}
    config = ModelConfig(len(names), 32, dropout=0.0, max_positions=200, **{**sizes, **variants})
    return Transformer(config, PAD_ID), processor, names


def _train(network: Transformer, processor: Any, ids: dict[str, int], end: list[int]) -> None:
    def encoded(text: str) -> list[int]:
        return [ids[piece] for piece in processor.encode(text, out_type=str)]

    def batch(rows: list[list[int]]) -> torch.Tensor:
        width = max(map(len, rows))
        return torch.tensor([row + [PAD_ID] * (width - len(row)) for row in rows])

    pairs = [(encoded(german), encoded(english)) for german, english in toy.sentences()]
    optimizer = torch.optim.Adam(network.parameters())
    rng = random.Random(0)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 30, (STEPS - step) / 80)
        chosen = rng.sample(pairs, BATCH)
        source = batch([[*german, *end] for german, _ in chosen])
        target = batch([[BOS_ID, *english, EOS_ID] for _, english in chosen])
        logits = network(source, target[:, :-1])
        loss: Any = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD_ID
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.3, loss.item()


def muddled_texts(count: int, longest: int = 12) -> list[str]:
    """Return texts of random words of the toy language, for which no translation is certain."""
    words = sorted({word.strip(".") for german, _ in toy.sentences() for word in german.split()})
    rng = random.Random(1)
    return [" ".join(rng.choices(words, k=rng.randint(1, longest))) for _ in range(count)]


def translated(
    folder: Path, texts: list[str], prefix: list[str] | None = None, **options: Any
) -> list[str | None]:
    """Translate texts one by one with CTranslate2; None where the service would search again.

    Every translation must begin with the tokens `prefix`.
    """
    processor = _processor(folder)
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", intra_threads=1
    )
    search_options = {"beam_size": 4, "length_penalty": 1e-9, "min_decoding_length": 0, **options}
    found: list[str | None] = []
    for text in texts:
        source = processor.encode(text, out_type=str)
        [result] = translator.translate_batch(
            [source],
            target_prefix=[prefix],
            max_decoding_length=len(source) + EXTRA_LENGTH + len(prefix or []),
            return_end_token=True,
            **search_options,
        )
        *tokens, end = result.hypotheses[0]
        ends = end == "</s>" and not loops([hash(token) for token in tokens])
        found.append(processor.decode_pieces(tokens).strip() or None if ends else None)
    return found


def _processor(folder: Path) -> Any:
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))

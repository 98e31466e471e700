"""`python -m tests.bench.training CONFIG --data DIR`: compare the trainer's tokens/s with other loops.

All loops use the same batches of the same text and the same updates (Adam, clipping, label smoothing), in the
precision that the trainer chooses for the machine:

- trainer: `model.trainer` as `python -m model.train` runs it, including the thread for batches and the log;
- bare: the same network and loss on prepared batches, with only forward, backward and update;
- fairseq-style: the same network with torch's fused attention, and the loss from a whole log-softmax in fp32;
- nn.Transformer: torch's own layers of the same sizes, and torch's cross-entropy;
- nn.Transformer, shuffled: the same with 64 random sentences per batch, as in tutorials.

Tokens are target tokens without padding.
"""

import argparse
import itertools
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model import log
from model.config import Config, load_config
from model.data.batches import Batch, Batcher, collate
from model.data.corpus import Corpus
from model.data.text import DataError, read_aligned
from model.loss import label_smoothed_loss
from model.memory import keep_freed_memory
from model.optim import build_optimizer
from model.precision import choose_precision
from model.tokenizer import PAD_ID, Vocabularies
from model.train import train
from model.transformer import MultiHeadAttention, Transformer, sinusoids

Loss = Callable[[Batch], Tensor]


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings, positions and projection, which it leaves to its users."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        sizes = config.model
        self.embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.register_buffer("positions", sinusoids(sizes.max_positions, sizes.d_model))
        self.layers = nn.Transformer(
            sizes.d_model,
            sizes.num_heads,
            sizes.num_encoder_layers,
            sizes.num_decoder_layers,
            sizes.d_ff,
            sizes.dropout,
            batch_first=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = scaled + self.get_buffer("positions")[: ids.shape[1]]
        return embedded

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.layers(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=torch.zeros(source.shape).masked_fill(source == PAD_ID, -math.inf),
            memory_key_padding_mask=torch.zeros(source.shape).masked_fill(
                source == PAD_ID, -math.inf
            ),
            tgt_is_causal=True,
        )
        logits: Tensor = F.linear(states, self.embedding.weight)
        return logits


def fused_attention(
    _: MultiHeadAttention, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, __: object
) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def ours(network: Transformer, smoothing: float) -> Loss:
    def loss(batch: Batch) -> Tensor:
        logits = network(batch.source, batch.target_in).flatten(0, 1)
        sums = label_smoothed_loss(logits, batch.target_out.flatten(), PAD_ID, smoothing)
        return sums.smoothed / sums.tokens

    return loss


def fairseq_style(network: Transformer, smoothing: float) -> Loss:
    def loss(batch: Batch) -> Tensor:
        logits = network(batch.source, batch.target_in).flatten(0, 1)
        log_probs = F.log_softmax(logits, dim=-1, dtype=torch.float32)
        target = batch.target_out.flatten()[:, None]
        real = target != PAD_ID
        nll = -log_probs.gather(-1, target)[real].sum()
        smooth = -log_probs.sum(-1, keepdim=True)[real].sum() / log_probs.shape[-1]
        return ((1 - smoothing) * nll + smoothing * smooth) / real.sum()

    return loss


def torchs(network: TorchTransformer, smoothing: float) -> Loss:
    def loss(batch: Batch) -> Tensor:
        logits = network(batch.source, batch.target_in).flatten(0, 1)
        targets = batch.target_out.flatten()
        return F.cross_entropy(logits, targets, ignore_index=PAD_ID, label_smoothing=smoothing)

    return loss


def loop(network: nn.Module, loss: Loss, config: Config, batches: Iterable[Batch]) -> float:
    """Return the tokens/s of plain updates."""
    optimizer = build_optimizer(network, config.training)
    network.train()
    in_bf16 = config.training.precision == "bf16"
    tokens, started = 0, time.perf_counter()
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bf16):
            sums = loss(batch)
        sums.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), config.training.clip_norm)
        optimizer.step(learning_rate=1e-4)
        optimizer.zero_grad()
        tokens += batch.num_tokens
    return tokens / (time.perf_counter() - started)


def trainer(config: Config, data: Path, run: Path, steps: int) -> float:
    """Train for this number of steps, and return the tokens/s from the log of the run."""
    for checkpoint in run.glob("step_*"):
        for path in checkpoint.iterdir():
            path.unlink()
        checkpoint.rmdir()
    training = replace(
        config.training, max_steps=steps, log_every=steps, validate_every=10**9, bleu_sentences=1
    )
    train(replace(config, training=training), data, run)
    return float(log.read(run)[-2]["tokens_per_second"])


def measure(config: Config, data: Path, steps: int, rounds: int) -> dict[str, list[float]]:
    """Measure the tokens/s of each loop in each round; the loops run in turn."""
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        run = Path(name)
        trainer(config, data, run, 1)  # learns the vocabulary and tokenizes
        batches, shuffled = batches_of(config, data, run, steps)
        smoothing = config.training.label_smoothing
        for turn in range(rounds):
            torch.manual_seed(turn)
            network, peer = Transformer(config.model, PAD_ID), TorchTransformer(config)
            our_loss, peer_loss = ours(network, smoothing), torchs(peer, smoothing)
            fairseq_loss = fairseq_style(network, smoothing)
            systems: dict[str, Callable[[], float]] = {
                "trainer": partial(trainer, config, data, run, steps),
                "bare": partial(loop, network, our_loss, config, batches),
                "fairseq-style": partial(loop, network, fairseq_loss, config, batches),
                "nn.Transformer": partial(loop, peer, peer_loss, config, batches),
                "nn.Transformer, shuffled": partial(loop, peer, peer_loss, config, shuffled),
            }
            for system, run_system in systems.items():
                fused = patch.object(MultiHeadAttention, "_attend", fused_attention)
                with fused if system == "fairseq-style" else nullcontext():
                    rates.setdefault(system, []).append(run_system())
                print(f"round {turn + 1}: {system}: {rates[system][-1]:,.0f} tokens/s", flush=True)
    return rates


def batches_of(
    config: Config, data: Path, run: Path, steps: int
) -> tuple[list[Batch], list[Batch]]:
    """Return the first batches of training, and as many batches of 64 random sentences."""
    corpus = Corpus.open(data, config.data, Vocabularies.load(run), run / "tokens")
    batcher = Batcher(corpus, config.training.batch_tokens, config.training.seed)
    batches = [
        update.batches[0]
        for update in itertools.islice(map(batcher.update, batcher.plans(0, 0, 1)), steps)
    ]
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(corpus), size=64).tolist() for _ in range(steps)]
    shuffled = [collate([corpus[index] for index in numbers]) for numbers in drawn]
    for name, sample in (("ours", batches), ("shuffled", shuffled)):
        print(f"padding, {name}: {statistics.mean(batch.padding for batch in sample):.1%}")
    return batches, shuffled


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.training", description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args(arguments)
    keep_freed_memory()  # for all loops, as in `model.train`
    config = load_config(options.config, options.set)
    precision = choose_precision(config.training.precision, torch.device("cpu"))
    training = replace(
        config.training,
        optimizer="adam",
        precision="bf16" if precision == torch.bfloat16 else "fp32",
    )
    config = replace(config, training=training)
    print(f"precision: {training.precision}")
    read_aligned(options.data, "valid", config.data.languages)
    rates = measure(config, options.data, options.steps, options.rounds)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(f"\n| loop | tokens/s (median of {options.rounds}) | of bare |\n|---|---|---|")
    for name, value in medians.items():
        print(f"| {name} | {value:,.0f} | {value / medians['bare']:.2f} |")


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(f"error: {error}")

"""Padded batches of pairs, in an order that depends only on the seed and the epoch."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config import SubwordSides
from model.data.corpus import Corpus, Pair
from model.tokenizer import BOS_ID, PAD_ID


class Batch(NamedTuple):
    """Padded ids of B pairs, int64."""

    source: Tensor
    """[B, S]"""
    target_in: Tensor
    """[B, T], from BOS on."""
    target_out: Tensor
    """[B, T], up to EOS; padding does not count in the loss."""

    def to(self, device: torch.device) -> "Batch":
        """Copy the batch to `device`."""
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in self))

    def pin_memory(self) -> "Batch":
        """Copy the batch to pinned memory, for fast copies to a GPU."""
        return Batch(*(tensor.pin_memory() for tensor in self))

    @property
    def num_tokens(self) -> int:
        """The number of target tokens without padding."""
        return int((self.target_out != PAD_ID).sum())

    @property
    def padding(self) -> float:
        """The share of padding in source and target."""
        ids = torch.cat((self.source.flatten(), self.target_out.flatten()))
        return float((ids == PAD_ID).float().mean())


class Plan(NamedTuple):
    """The batches that one process reads for one update of the weights, and the position after them."""

    batches: list[tuple[NDArray[np.int64], int]]
    """For each batch, the numbers of its pairs and the seed of their random segmentation."""
    epoch: int
    next_batch: int
    """The number of the next batch in the epoch."""


class Update(NamedTuple):
    """The batches of one process for one update of the weights."""

    batches: list[Batch]
    epoch: int
    next_batch: int

    def pin_memory(self) -> "Update":
        """Copy the batches to pinned memory, for fast copies to a GPU."""
        return self._replace(batches=[batch.pin_memory() for batch in self.batches])


class Batcher:
    """Divides a corpus into batches of similar length with at most `batch_tokens` padded tokens per side."""

    def __init__(
        self,
        corpus: Corpus,
        batch_tokens: int,
        seed: int,
        subword_alpha: float = 0.0,
        subword_sides: SubwordSides = "both",
    ) -> None:
        """Unless `subword_alpha` is 0, the segmentation of a pair is random each time it is used."""
        self.corpus, self.batch_tokens, self.seed = corpus, batch_tokens, seed
        self.subword_alpha, self.subword_sides = subword_alpha, subword_sides

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """Return the batches of epoch `number` as arrays of pair numbers, the same for the same seed."""
        rng = np.random.default_rng((self.seed, number))
        drawn = self.corpus.draw(rng)
        lengths = self.corpus.source_lengths[drawn], self.corpus.target_lengths[drawn]
        return [drawn[batch] for batch in cut(*lengths, self.batch_tokens, rng)]

    def batch(self, numbers: NDArray[np.int64], seed: int) -> Batch:
        """Build the batch of these pairs; `seed` determines their segmentation if it is random."""
        if self.subword_alpha:
            alpha, sides = self.subword_alpha, self.subword_sides
            return collate(self.corpus.sampled(numbers, alpha, seed, sides))
        return collate([self.corpus[number] for number in numbers.tolist()])

    def plans(
        self, epoch: int, batch: int, count: int, rank: int = 0, world: int = 1
    ) -> Iterator[Plan]:
        """Yield endless plans of `count` batches for process `rank`, starting at a batch of an epoch.

        Each of the `world` processes gets one of every `world` consecutive batches.
        """
        batches = self.epoch(epoch)
        while True:
            own_batches = []
            for index in range(count * world):
                if batch == len(batches):
                    epoch, batch = epoch + 1, 0
                    batches = self.epoch(epoch)
                if index % world == rank:
                    seed = np.random.SeedSequence((self.seed, epoch, batch)).generate_state(1)[0]
                    own_batches.append((batches[batch], int(seed)))
                batch += 1
            yield Plan(own_batches, epoch, batch)

    def update(self, plan: Plan) -> Update:
        """Build the batches of a plan."""
        return Update(
            [self.batch(*batch_and_seed) for batch_and_seed in plan.batches],
            plan.epoch,
            plan.next_batch,
        )


def cut(
    source_lengths: NDArray[np.int32],
    target_lengths: NDArray[np.int32],
    batch_tokens: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Divide pairs into batches of at most `batch_tokens` tokens per side, including padding.

    Pairs are shuffled, then sorted by length, so that ties are in random order. Batches are shuffled, too.

    Returns:
        Arrays of indices into the lengths. A pair that exceeds `batch_tokens` is a batch of its own.
    """
    shuffled = rng.permutation(len(source_lengths))
    sources, targets = source_lengths[shuffled], target_lengths[shuffled]
    by_length = np.lexsort((sources, targets))
    order, longest = shuffled[by_length], np.maximum(sources, targets)[by_length]
    batches, start = [], 0
    while start < len(order):
        # one more than fits at the first pair's length
        limit = batch_tokens // int(longest[start]) + 1
        widths = np.maximum.accumulate(longest[start : start + limit])
        tokens = widths * np.arange(1, len(widths) + 1)
        fitting = max(1, int(np.searchsorted(tokens, batch_tokens, side="right")))
        batches.append(order[start : start + fitting])
        start += fitting
    return [batches[index] for index in rng.permutation(len(batches))]


def batches_of(pairs: Sequence[Pair], batch_tokens: int) -> Iterator[Batch]:
    """Yield batches with each pair once, in an order that is always the same."""
    sources = np.array([len(pair.source) for pair in pairs], np.int32)
    targets = np.array([len(pair.target) for pair in pairs], np.int32)
    for batch in cut(sources, targets, batch_tokens, np.random.default_rng(0)):
        yield collate([pairs[index] for index in batch.tolist()])


def collate(pairs: Sequence[Pair]) -> Batch:
    """Pad pairs to a batch."""
    inputs = [np.concatenate(([BOS_ID], pair.target[:-1])) for pair in pairs]
    return Batch(
        _pad([pair.source for pair in pairs]), _pad(inputs), _pad([pair.target for pair in pairs])
    )


def _pad(rows: Sequence[NDArray[np.int32]]) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)

"""Pairs to padded batches, in an order that depends on the seed and the epoch alone."""

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
    """Padded ids, int64."""

    source: Tensor
    """[B, S]"""
    target_in: Tensor
    """[B, T], from BOS on."""
    target_out: Tensor
    """[B, T], to EOS; padding does not count in the loss."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on `device`."""
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in self))

    def pin_memory(self) -> "Batch":
        """The same batch, from where a GPU copies fast."""
        return Batch(*(tensor.pin_memory() for tensor in self))

    @property
    def num_tokens(self) -> int:
        """Targets that count."""
        return int((self.target_out != PAD_ID).sum())

    @property
    def padding(self) -> float:
        """Share of padding in source and target."""
        ids = torch.cat((self.source.flatten(), self.target_out.flatten()))
        return float((ids == PAD_ID).float().mean())


class CandidateBatch(NamedTuple):
    """Padded ids, int64, of L sources with K candidate translations each."""

    source: Tensor
    """[L, S]"""
    target_in: Tensor
    """[L * K, T], from BOS on; the candidates of a source one behind the other."""
    target_out: Tensor
    """[L * K, T], to EOS."""
    gains: Tensor
    """[L, K], float32: how good each is, from 0 to 1."""

    def to(self, device: torch.device) -> "CandidateBatch":
        """The same batch on `device`."""
        return CandidateBatch(*(tensor.to(device, non_blocking=True) for tensor in self))

    def pin_memory(self) -> "CandidateBatch":
        """The same batch, from where a GPU copies fast."""
        return CandidateBatch(*(tensor.pin_memory() for tensor in self))


class Plan(NamedTuple):
    """What one process is to read for one update of the weights, and where in the data it ends."""

    batches: list[tuple[NDArray[np.int64], int]]
    """Each batch's pairs, by their numbers, and the seed of the way they are cut."""
    epoch: int
    next_batch: int
    """Number, in the epoch, of the batch after the last one."""
    candidates: Sequence[int] = ()
    """Numbers of the batches of candidates."""


class Update(NamedTuple):
    """One process's batches for one update of the weights, as they were planned."""

    batches: list[Batch]
    epoch: int
    next_batch: int
    candidates: Sequence[CandidateBatch] = ()
    """What is read for `training.risk`."""

    @property
    def passes(self) -> list[Batch | CandidateBatch]:
        """All of it: what goes through the network at one time each."""
        return [*self.batches, *self.candidates]

    def pin_memory(self) -> "Update":
        """The same update, from where a GPU copies fast."""
        batches = [batch.pin_memory() for batch in self.batches]
        return self._replace(
            batches=batches, candidates=[one.pin_memory() for one in self.candidates]
        )


class Batcher:
    """Cuts a corpus into batches of similar length, at most `batch_tokens` tokens a side with padding."""

    def __init__(
        self,
        corpus: Corpus,
        batch_tokens: int,
        seed: int,
        subword_alpha: float = 0.0,
        subword_sides: SubwordSides = "both",
    ) -> None:
        """Nothing is copied. With a `subword_alpha`, every pair is cut anew each time it is seen."""
        self.corpus, self.batch_tokens, self.seed = corpus, batch_tokens, seed
        self.subword_alpha, self.subword_sides = subword_alpha, subword_sides

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch as arrays of pairs' numbers, the same for the same seed and number."""
        rng = np.random.default_rng((self.seed, number))
        drawn = self.corpus.draw(rng)
        lengths = self.corpus.source_lengths[drawn], self.corpus.target_lengths[drawn]
        return [drawn[batch] for batch in cut(*lengths, self.batch_tokens, rng)]

    def batch(self, numbers: NDArray[np.int64], seed: int) -> Batch:
        """Some pairs as a batch; `seed` is of the way they are cut, if that is random."""
        if self.subword_alpha:
            alpha, sides = self.subword_alpha, self.subword_sides
            return collate(self.corpus.sampled(numbers, alpha, seed, sides))
        return collate([self.corpus[number] for number in numbers.tolist()])

    def plans(
        self, epoch: int, batch: int, count: int, rank: int = 0, world: int = 1
    ) -> Iterator[Plan]:
        """Endless plans of `count` batches for each of `world` processes, beginning at the given place.

        Of every `world` consecutive batches, process `rank` gets its own.
        """
        batches = self.epoch(epoch)
        while True:
            mine = []
            for place in range(count * world):
                if batch == len(batches):
                    epoch, batch = epoch + 1, 0
                    batches = self.epoch(epoch)
                if place % world == rank:
                    seed = np.random.SeedSequence((self.seed, epoch, batch)).generate_state(1)[0]
                    mine.append((batches[batch], int(seed)))
                batch += 1
            yield Plan(mine, epoch, batch)

    def update(self, plan: Plan) -> Update:
        """The batches of a plan, without candidates."""
        return Update([self.batch(*one) for one in plan.batches], plan.epoch, plan.next_batch)


def cut(
    source_lengths: NDArray[np.int32],
    target_lengths: NDArray[np.int32],
    batch_tokens: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Batches of at most `batch_tokens` tokens a side, padding included, as arrays of places in the lengths.

    Shuffled, then sorted by length (so that ties are random), cut, and the cuts shuffled.
    """
    shuffled = rng.permutation(len(source_lengths))
    sources, targets = source_lengths[shuffled], target_lengths[shuffled]
    by_length = np.lexsort((sources, targets))
    order, longest = shuffled[by_length], np.maximum(sources, targets)[by_length]
    batches, start = [], 0
    while start < len(order):
        most = batch_tokens // int(longest[start]) + 1  # one more than fit beside the first
        widths = np.maximum.accumulate(longest[start : start + most])
        tokens = widths * np.arange(1, len(widths) + 1)
        fitting = max(1, int(np.searchsorted(tokens, batch_tokens, side="right")))
        batches.append(order[start : start + fitting])
        start += fitting
    return [batches[index] for index in rng.permutation(len(batches))]


def batches_of(pairs: Sequence[Pair], batch_tokens: int) -> Iterator[Batch]:
    """Each of some pairs once, in an order that is always the same."""
    sources = np.array([len(pair.source) for pair in pairs], np.int32)
    targets = np.array([len(pair.target) for pair in pairs], np.int32)
    for batch in cut(sources, targets, batch_tokens, np.random.default_rng(0)):
        yield collate([pairs[at] for at in batch.tolist()])


def collate(pairs: Sequence[Pair]) -> Batch:
    """Pad pairs to one batch."""
    inputs = [np.concatenate(([BOS_ID], pair.target[:-1])) for pair in pairs]
    return Batch(
        _pad([pair.source for pair in pairs]), _pad(inputs), _pad([pair.target for pair in pairs])
    )


def _pad(rows: Sequence[NDArray[np.int32]]) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)

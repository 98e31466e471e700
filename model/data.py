"""Aligned text files to padded batches, in an order that depends on the seed and the epoch alone.

A data folder holds `train.<code>` and `valid.<code>` for every language: one sentence a line, UTF-8,
line n of one file the translation of line n of the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.config import DataConfig
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer


class DataError(ValueError):
    """Text that cannot be used; the message names the file and, where there is one, the line."""


class Pair(NamedTuple):
    """One training example as ids."""

    source: np.ndarray
    """int32 [S]: tag, pieces, EOS."""
    target: np.ndarray
    """int32 [T]: pieces, EOS; the decoder's input is BOS and all but the last."""


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


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, without line ends.

    Raises:
        DataError: the file is missing, is empty, has an empty line or one that is not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if not raw:
        raise DataError(f"{path}: is empty")
    lines = []
    for number, line in enumerate(raw.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number}: not UTF-8: {error.reason} at byte {error.start}"
            ) from None
        if not text:
            raise DataError(f"{path}:{number}: the line is empty")
        lines.append(text)
    return lines


def read_aligned(folder: Path, split: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """The lines of `<folder>/<split>.<code>` for every language.

    Raises:
        DataError: a file is unusable, or the files differ in their number of lines.
    """
    text = {code: read_lines(folder / f"{split}.{code}") for code in languages}
    first = languages[0]
    for code in languages[1:]:
        if len(text[code]) != len(text[first]):
            raise DataError(
                f"{folder / f'{split}.{code}'}: has {len(text[code])} lines, but "
                f"{folder / f'{split}.{first}'} has {len(text[first])}"
            )
    return text


@dataclass(frozen=True)
class Corpus:
    """All pairs of all directions, with the count of what was too long to learn from."""

    pairs: list[Pair]
    num_too_long: int

    @classmethod
    def encode(
        cls, text: dict[str, list[str]], config: DataConfig, tokenizer: Tokenizer
    ) -> "Corpus":
        """Tokenize every language once and pair it up for every direction.

        Pairs with a side of more than `config.max_tokens` tokens are left out and counted.
        """
        ids = {code: tokenizer.encode(text[code]) for code in config.languages}
        pairs, num_too_long = [], 0
        for direction in config.directions:
            source_code, target_code = direction.split("-")
            tag = tokenizer.tag_id(target_code)
            for source, target in zip(ids[source_code], ids[target_code], strict=True):
                if max(len(source) + 2, len(target) + 1) > config.max_tokens:
                    num_too_long += 1
                    continue
                pairs.append(
                    Pair(
                        np.array([tag, *source, EOS_ID], dtype=np.int32),
                        np.array([*target, EOS_ID], dtype=np.int32),
                    )
                )
        return cls(pairs, num_too_long)


class Batcher:
    """Cuts a corpus into batches of similar length, at most `batch_tokens` tokens a side with padding."""

    def __init__(self, pairs: Sequence[Pair], batch_tokens: int, seed: int) -> None:
        """Nothing is copied: `pairs` must stay as it is."""
        self.pairs = pairs
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.source_lengths = np.array([len(pair.source) for pair in pairs])
        self.target_lengths = np.array([len(pair.target) for pair in pairs])

    def epoch(self, number: int) -> list[np.ndarray]:
        """The batches of one epoch as arrays of indices, the same for the same seed and number.

        Shuffled, then sorted by length (so that ties are random), cut, and the cuts shuffled.
        """
        rng = np.random.default_rng((self.seed, number))
        shuffled = rng.permutation(len(self.pairs))
        order = shuffled[np.lexsort((self.source_lengths[shuffled], self.target_lengths[shuffled]))]
        longest = np.maximum(self.source_lengths, self.target_lengths)[order]
        batches, start, width = [], 0, 0
        for end, length in enumerate(longest):
            width = max(width, int(length))
            if (end + 1 - start) * width > self.batch_tokens and end > start:
                batches.append(order[start:end])
                start, width = end, int(length)
        batches.append(order[start:])
        return [batches[index] for index in rng.permutation(len(batches))]

    def collate(self, indices: np.ndarray) -> Batch:
        """Pad the pairs at `indices` to one batch."""
        sources = [self.pairs[index].source for index in indices]
        targets = [self.pairs[index].target for index in indices]
        inputs = [np.concatenate(([BOS_ID], target[:-1])) for target in targets]
        return Batch(_pad(sources), _pad(inputs), _pad(targets))

    def from_position(self, epoch: int, batch: int) -> Iterator[tuple[int, int, Batch]]:
        """Endless (epoch, batch number, batch) triples, beginning at the given place."""
        while True:
            batches = self.epoch(epoch)
            for number in range(batch, len(batches)):
                yield epoch, number, self.collate(batches[number])
            epoch, batch = epoch + 1, 0


def _pad(rows: Sequence[np.ndarray]) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)

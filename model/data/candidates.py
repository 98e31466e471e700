"""Candidate translations found by a search, with the quality of each, for minimum risk training.

They are read from `candidates.<source>-<target>.jsonl` (`candidates.<name>.…` for a named corpus), which
`export.candidates` writes, with a line per sentence:
`{"source": "…", "candidates": ["…", …], "gains": [0.7, …]}`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from model.config import Config
from model.data.batches import CandidateBatch, collate, cut
from model.data.corpus import Pair, pair_of
from model.data.text import DataError, iterate_lines
from model.tokenizer import Vocabularies

COUNT = 5
"""Candidates per sentence, slightly more than the beams of a search (4, section 6.1)."""


class CandidateList(NamedTuple):
    """A sentence and its candidate translations."""

    source: str
    tag: int
    pairs: list[Pair]
    """The source with each of its candidates."""
    gains: list[float]


class Candidates:
    """All candidate lists of a data folder, in memory, as endless batches that depend only on the seed."""

    def __init__(
        self, lists: list[CandidateList], config: Config, vocabularies: Vocabularies
    ) -> None:
        """Batches have at most `training.batch_tokens` target tokens, including padding."""
        self.lists, self.vocabularies, self.config = lists, vocabularies, config
        tokens = [len(one.pairs) * max(len(pair.target) for pair in one.pairs) for one in lists]
        rng = np.random.default_rng(config.training.seed)
        targets = np.array(tokens, np.int32)
        self.batches = cut(np.zeros_like(targets), targets, config.training.batch_tokens, rng)

    @classmethod
    def open(cls, folder: Path, config: Config, vocabularies: Vocabularies) -> "Candidates":
        """Read the lists of every direction in `config.data`, except those with a text that is too long.

        Raises:
            DataError: a line is invalid, or no lists are left.
        """
        lists: list[CandidateList] = []
        for direction in config.data.directions:
            tag = vocabularies.source.tag_id(direction.split("-")[1])
            for path in sorted(folder.glob(f"candidates*.{direction}.jsonl")):
                read = list(_read(path))
                sources = vocabularies.source.encode([one["source"] for one in read])
                texts = [text for one in read for text in one["candidates"]]
                targets = iter(vocabularies.target.encode(texts))
                for one, source in zip(read, sources, strict=True):
                    pairs = [pair_of(tag, source, next(targets)) for _ in one["candidates"]]
                    lists.append(CandidateList(one["source"], tag, pairs, one["gains"]))
        limit = config.data.max_tokens
        short = [one for one in lists if all(max(map(len, pair)) <= limit for pair in one.pairs)]
        if not short:
            raise DataError(
                f"{folder}: has no candidates.<direction>.jsonl of "
                f"{', '.join(config.data.directions)} within data.max_tokens = {limit} tokens; "
                "training.risk needs them, and export.candidates makes them"
            )
        return cls(short, config, vocabularies)

    def batch(self, number: int) -> CandidateBatch:
        """Build batch `number`, counted from 0 over all epochs; each epoch has each list once."""
        seed, alpha = self.config.training.seed, self.config.data.subword_alpha
        epoch, place = divmod(number, len(self.batches))
        order = np.random.default_rng((seed, epoch)).permutation(len(self.batches))
        chosen = [self.lists[at] for at in self.batches[order[place]]]
        rows = collate([pair for one in chosen for pair in one.pairs])
        gains = torch.tensor([one.gains for one in chosen])
        source = rows.source[:: gains.shape[1]]
        if alpha:
            cut_seed = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
            pieces = self.vocabularies.source.sample(
                [one.source for one in chosen], alpha, cut_seed
            )
            pairs = [pair_of(one.tag, ids, ()) for one, ids in zip(chosen, pieces, strict=True)]
            source = collate(pairs).source
        return CandidateBatch(source, rows.target_in, rows.target_out, gains)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file after checking each.

    Raises:
        DataError: a line is invalid.
    """
    for number, (text, _) in enumerate(iterate_lines(path), start=1):
        try:
            one = json.loads(text)
            texts, gains = [one["source"], *one["candidates"]], one["gains"]
            fits = all(isinstance(each, str) for each in texts) and len(gains) == COUNT
            fits = fits and len(texts) == COUNT + 1 and all(0 <= gain <= 1 for gain in gains)
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise DataError(
                f'{path}:{number}: is not {{"source": …, "candidates": […], "gains": […]}} with '
                f"{COUNT} candidates and a gain from 0 to 1 for each"
            )
        yield one

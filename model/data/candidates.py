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
        tokens = [
            len(candidate_list.pairs) * max(len(pair.target) for pair in candidate_list.pairs)
            for candidate_list in lists
        ]
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
                rows = list(_read(path))
                sources = vocabularies.source.encode([row["source"] for row in rows])
                texts = [text for row in rows for text in row["candidates"]]
                targets = iter(vocabularies.target.encode(texts))
                for row, source in zip(rows, sources, strict=True):
                    pairs = [pair_of(tag, source, next(targets)) for _ in row["candidates"]]
                    lists.append(CandidateList(row["source"], tag, pairs, row["gains"]))
        limit = config.data.max_tokens
        usable = [
            candidate_list
            for candidate_list in lists
            if all(max(map(len, pair)) <= limit for pair in candidate_list.pairs)
        ]
        if not usable:
            raise DataError(
                f"{folder}: has no candidates.<direction>.jsonl of "
                f"{', '.join(config.data.directions)} within data.max_tokens = {limit} tokens; "
                "training.risk needs them, and export.candidates makes them"
            )
        return cls(usable, config, vocabularies)

    def batch(self, number: int) -> CandidateBatch:
        """Build batch `number`, counted from 0 over all epochs; each epoch has each list once."""
        seed, alpha = self.config.training.seed, self.config.data.subword_alpha
        epoch, position = divmod(number, len(self.batches))
        order = np.random.default_rng((seed, epoch)).permutation(len(self.batches))
        lists = [self.lists[index] for index in self.batches[order[position]]]
        rows = collate([pair for candidate_list in lists for pair in candidate_list.pairs])
        gains = torch.tensor([candidate_list.gains for candidate_list in lists])
        source = rows.source[:: gains.shape[1]]
        if alpha:
            cut_seed = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
            pieces = self.vocabularies.source.sample(
                [candidate_list.source for candidate_list in lists], alpha, cut_seed
            )
            pairs = [
                pair_of(candidate_list.tag, ids, ())
                for candidate_list, ids in zip(lists, pieces, strict=True)
            ]
            source = collate(pairs).source
        return CandidateBatch(source, rows.target_in, rows.target_out, gains)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file after checking each.

    Raises:
        DataError: a line is invalid.
    """
    for number, (text, _) in enumerate(iterate_lines(path), start=1):
        try:
            row = json.loads(text)
            texts, gains = [row["source"], *row["candidates"]], row["gains"]
            fits = all(isinstance(text, str) for text in texts) and len(gains) == COUNT
            fits = fits and len(texts) == COUNT + 1 and all(0 <= gain <= 1 for gain in gains)
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise DataError(
                f'{path}:{number}: is not {{"source": …, "candidates": […], "gains": […]}} with '
                f"{COUNT} candidates and a gain from 0 to 1 for each"
            )
        yield row

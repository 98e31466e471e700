"""Batches: no pair is lost, and the order is the same from any starting point."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from model.config import Config
from model.data.batches import Batcher, Update, batches_of, collate, cut
from model.data.corpus import Corpus, Pair
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer, Vocabularies
from tests.conftest import TINY_BUNDLE


@pytest.fixture
def corpus(corpus_folder: Path, config: Config, tmp_path: Path) -> Corpus:
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    return Corpus.open(corpus_folder, config.data, Vocabularies(tokenizer, tokenizer), tmp_path)


def are_equal(one: Update, other: Update) -> bool:
    return one[1:] == other[1:] and all(
        a.equal(b)
        for mine, theirs in zip(one.batches, other.batches, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )


def updates(
    batcher: Batcher, epoch: int, batch: int, count: int, rank: int = 0, world: int = 1
) -> Iterator[Update]:
    return map(batcher.update, batcher.plans(epoch, batch, count, rank, world))


def test_an_epoch_has_every_pair_once_in_batches_within_the_budget(corpus: Corpus) -> None:
    batcher = Batcher(corpus, batch_tokens=400, seed=5)
    epoch = batcher.epoch(0)
    assert sorted(np.concatenate(epoch).tolist()) == list(range(400))
    batches = [batcher.batch(numbers, seed=0) for numbers in epoch]
    assert max(max(one.source.numel(), one.target_out.numel()) for one in batches) <= 400
    assert sum(one.num_tokens for one in batches) == corpus.target_lengths.sum()
    assert np.mean([one.padding for one in batches]) < 0.1


def test_the_order_depends_only_on_seed_and_epoch(corpus: Corpus) -> None:
    one, other = (Batcher(corpus, 200, seed=1) for _ in range(2))
    epochs = (one.epoch(3), other.epoch(3), one.epoch(4), Batcher(corpus, 200, seed=2).epoch(3))
    first, again, later, elsewhere = ([batch.tolist() for batch in epoch] for epoch in epochs)
    assert first == again
    assert first != later
    assert first != elsewhere


@pytest.mark.parametrize("subword_alpha", [0.0, 0.3])
def test_updates_resumed_from_a_position_equal_the_uninterrupted_ones(
    corpus: Corpus, subword_alpha: float
) -> None:
    batcher = Batcher(corpus, 300, seed=1, subword_alpha=subword_alpha)
    whole = list(islice(updates(batcher, 0, 0, count=2), 30))
    assert whole[-1].epoch > 0
    for start in (1, 7, 20):
        before = whole[start - 1]
        rest = islice(updates(batcher, before.epoch, before.next_batch, count=2), 5)
        for got, expected in zip(rest, whole[start:], strict=False):
            assert are_equal(got, expected)


def test_processes_share_the_batches_of_a_single_process(corpus: Corpus) -> None:
    batcher = Batcher(corpus, 300, seed=1)
    alone = islice(updates(batcher, 0, 0, count=6), 9)
    shared = [islice(updates(batcher, 0, 0, 2, rank=rank, world=3), 9) for rank in range(3)]
    for whole, *parts in zip(alone, *shared, strict=True):
        turns = [part.batches[at] for at in range(2) for part in parts]
        assert are_equal(whole, Update(turns, parts[0].epoch, parts[0].next_batch))


def test_the_decoders_input_is_its_output_shifted_by_one() -> None:
    pair = Pair(np.array([9, 5, EOS_ID]), np.array([6, 7, 8, EOS_ID]))
    short = Pair(np.array([9, EOS_ID]), np.array([6, EOS_ID]))
    batch = collate([pair, short])
    assert batch.target_in.tolist() == [[BOS_ID, 6, 7, 8], [BOS_ID, 6, PAD_ID, PAD_ID]]
    assert batch.target_out.tolist() == [[6, 7, 8, EOS_ID], [6, EOS_ID, PAD_ID, PAD_ID]]
    assert batch.source.tolist() == [[9, 5, EOS_ID], [9, EOS_ID, PAD_ID]]
    assert batch.padding == pytest.approx(3 / 14)


def test_batches_of_held_out_pairs_have_each_pair_once(corpus: Corpus) -> None:
    pairs = [corpus[number] for number in range(0, 400, 9)]
    rows = [row for batch in batches_of(pairs, 300) for row in batch.target_out.tolist()]
    found = sorted([token for token in row if token != PAD_ID] for row in rows)
    assert found == sorted(pair.target.tolist() for pair in pairs)


Lengths = NDArray[np.int32]


def sequentially_cut(
    sources: Lengths, targets: Lengths, batch_tokens: int, rng: np.random.Generator
) -> list[list[int]]:
    """Compute the result of `cut`, one pair after another."""
    shuffled = rng.permutation(len(sources))
    order = sorted(shuffled.tolist(), key=lambda at: (targets[at], sources[at]))
    batches: list[list[int]] = [[]]
    width = 0
    for at in order:
        length = int(max(sources[at], targets[at]))
        width = max(width, length)
        if batches[-1] and (len(batches[-1]) + 1) * width > batch_tokens:
            batches.append([])
            width = length
        batches[-1].append(at)
    return [batches[index] for index in rng.permutation(len(batches))]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60),
    st.integers(1, 400),
    st.integers(0, 9),
)
def test_batches_equal_those_of_the_sequential_algorithm(
    lengths: list[tuple[int, int]], batch_tokens: int, seed: int
) -> None:
    sources, targets = np.array(lengths, np.int32).T
    one, other = (np.random.default_rng(seed) for _ in range(2))
    batches = cut(sources, targets, batch_tokens, one)
    assert [batch.tolist() for batch in batches] == sequentially_cut(
        sources, targets, batch_tokens, other
    )

"""Updates made in advance: the same in the same order, by thread or process, and no worker remains."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from model.config import Config
from model.data.batches import Batcher, Plan, Update
from model.data.corpus import Corpus
from model.data.updates import Reader, made_ahead, prefetch
from model.distributed import Processes
from model.tokenizer import Tokenizer, Vocabularies
from tests.conftest import TINY_BUNDLE

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create"
)  # if there are fewer cores


@pytest.fixture
def vocabularies() -> Vocabularies:
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    return Vocabularies(tokenizer, tokenizer)


@pytest.fixture
def batcher(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> Batcher:
    """A batcher with random segmentation, by the seeds of the plan."""
    corpus = Corpus.open(corpus_folder, config.data, vocabularies, tmp_path)
    return Batcher(corpus, 300, seed=1, subword_alpha=0.3)


def are_equal(one: Update, other: Update) -> bool:
    batches = zip(one.batches, other.batches, strict=True)
    return one[1:3] == other[1:3] and all(
        a.equal(b) for mine, theirs in batches for a, b in zip(mine, theirs, strict=True)
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_make_the_planned_updates_in_order(batcher: Batcher, workers: int) -> None:
    with closing(made_ahead(batcher.plans(0, 0, 2), batcher.update, workers, pin=False)) as ahead:
        made = list(islice(ahead, 30))
        assert len(multiprocessing.active_children()) == workers
    assert not multiprocessing.active_children()
    for got, plan in zip(made, batcher.plans(0, 0, 2), strict=False):
        batches = [batcher.batch(numbers, seed) for numbers, seed in plan.batches]
        assert are_equal(got, Update(batches, plan.epoch, plan.next_batch))
    assert made[-1].epoch > 0


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("rank", [0, 1])
def test_each_process_reads_its_share_from_the_given_batch_on(
    batcher: Batcher, config: Config, workers: int, rank: int
) -> None:
    training = replace(config.training, data_workers=workers)
    reader = Reader(batcher, training, Processes(rank, 2))
    with closing(reader.updates(epoch=0, batch=4)) as updates:
        made = list(islice(updates, 2))
    for got, plan in zip(made, batcher.plans(0, 4, 1, rank, 2), strict=False):
        assert are_equal(got, batcher.update(plan))


def test_workers_ignore_signals_that_ask_the_run_to_stop(batcher: Batcher) -> None:
    expected = list(islice(map(batcher.update, batcher.plans(0, 0, 1)), 40))
    with closing(made_ahead(batcher.plans(0, 0, 1), batcher.update, 2, pin=False)) as ahead:
        made = [next(ahead), next(ahead)]  # one from each worker, which now handles signals
        for worker in multiprocessing.active_children():
            assert worker.pid
            os.kill(worker.pid, signal.SIGINT)
            os.kill(worker.pid, signal.SIGTERM)
        made += islice(ahead, 38)
    assert all(map(are_equal, made, expected))


def failing(plan: Plan) -> Update:
    if plan.next_batch > 1:
        raise OSError("the disk is gone")
    return Update([], plan.epoch, plan.next_batch)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_in_a_worker_is_raised_to_the_caller(workers: int) -> None:
    plans: Iterator[Plan] = (Plan([(np.zeros(1, np.int64), 0)], 0, at) for at in (1, 2, 3))
    ahead = made_ahead(plans, failing, workers, pin=False)
    assert next(ahead)[1:3] == (0, 1)
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert not multiprocessing.active_children()


def test_the_prefetching_thread_ends_when_its_iterator_is_closed(batcher: Batcher) -> None:
    before = threading.active_count()
    ahead = prefetch(map(batcher.update, batcher.plans(0, 0, 1)), pin=False)
    next(ahead)
    assert threading.active_count() == before + 1
    ahead.close()
    assert threading.active_count() == before

"""Alignments whose attention fails: the answer is there, and its words follow one another."""

import asyncio
import threading
import time
from collections.abc import Callable
from collections.abc import Sequence as Items
from typing import Any

import numpy as np
import pytest

from service.aligner import Aligner
from service.bundle import load
from service.engine.types import Floats
from service.errors import DeadlineExceededError, TextTooLongError
from service.text.document import Sentence
from service.text.tokenizer import Tokenizers
from service.translation import TranslatedSentence
from tests.conftest import TINY_BUNDLE
from tests.fakes import Faults

SOURCE, TARGET = "Der alte Hund schläft.", "The old dog sleeps."


def aligned(
    attention: Callable[[Items[int], Items[int]], Floats], seconds: float = 10.0
) -> tuple[list[int], dict[str, int]]:
    """For each target word its source word, and what was counted."""
    bundle, faults = load(TINY_BUNDLE), Faults()
    tokenizers = Tokenizers.load(bundle.vocabulary, bundle.target_vocabulary)
    special = bundle.manifest.special_tokens
    aligner = Aligner(tokenizers, special, attention, 1, time.monotonic, faults)
    translated = [TranslatedSentence(Sentence(SOURCE), (TARGET,), (-1.0,), "end")]
    deadline = time.monotonic() + seconds
    try:
        [found] = asyncio.run(aligner.align(translated, 5, True, deadline))
    finally:
        aligner._threads.shutdown(wait=False)
    [alignment] = found.alignments
    assert np.isfinite(alignment.weights).all()
    assert alignment.weights.sum(axis=1) == pytest.approx(1)
    return alignment.links(), faults.counts


def crossed(source: Items[int], target: Items[int]) -> Floats:
    """The last target token looks at the first source token, and so on."""
    rows = np.linspace(len(source) - 2, 1, len(target) - 2).round().astype(int)
    weights: Floats = np.eye(len(source), dtype=np.float32)[rows]
    return weights


def test_attention_that_can_be_is_believed() -> None:
    links, counts = aligned(crossed)
    assert links[0] > links[-2]
    assert counts == {}


def failing(*_: Any) -> Floats:
    raise RuntimeError("no attention")


def full_of(value: float) -> Callable[[Items[int], Items[int]], Floats]:
    return lambda source, target: np.full((len(target) - 2, len(source)), value, np.float32)


@pytest.mark.parametrize(
    "attention",
    [
        full_of(np.nan),
        full_of(np.inf),
        full_of(-np.inf),
        full_of(1e30),
        lambda source, target: np.ones((1, 1), np.float32),
        failing,
    ],
)
def test_attention_that_cannot_be_leaves_words_in_their_order(attention: Any) -> None:
    links, counts = aligned(attention)
    assert links == sorted(links)
    assert links[0] == 0
    assert len(set(links)) >= 4  # of five words, which are of few pieces each
    assert counts == {"alignment": 1}


def test_attention_that_hangs_leaves_nobody_waiting() -> None:
    end = threading.Event()

    def hanging(source: Items[int], target: Items[int]) -> Floats:
        assert end.wait(10)
        return crossed(source, target)

    try:
        with pytest.raises(DeadlineExceededError):
            aligned(hanging, seconds=0.05)
    finally:
        end.set()


def test_words_that_no_token_bounds_are_refused_before_a_table_of_them_is_made() -> None:
    bundle = load(TINY_BUNDLE)  # its vocabulary takes any run of unknown characters for one token
    tokenizers = Tokenizers.load(bundle.vocabulary, bundle.target_vocabulary)
    special = bundle.manifest.special_tokens
    aligner = Aligner(tokenizers, special, crossed, 1, time.monotonic, Faults())
    text = "€" * 2000
    assert len(tokenizers.source.encode([text])[0]) < 10
    translated = [TranslatedSentence(Sentence(text), (text,), (-1.0,), "end")]
    try:
        with pytest.raises(TextTooLongError, match="4000000 pairs of words"):
            asyncio.run(aligner.align(translated, 5, True, time.monotonic() + 10))
    finally:
        aligner.close()

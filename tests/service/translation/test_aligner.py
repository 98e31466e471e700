"""Alignments: attention that fails leaves words in their order, and requests take turns."""

import asyncio
import re
import threading
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from service.engine.stalls import StallDetector
from service.engine.types import Floats
from service.errors import DeadlineExceededError
from service.models.bundle import load
from service.models.vocabularies import load_tokenizers
from service.text.run import Tag
from service.text.sentence import Sentence
from service.translation.aligner import Aligner, Around, Attention
from service.translation.decoded import Part
from tests.conftest import TINY_BUNDLE
from tests.fakes import Faults
from tests.waiting import until, wait_until

SOURCE, TARGET = "Der alte Hund schläft.", "The old dog sleeps."
AROUND: Around = ((5,), ())


def aligner_of(attention: Attention, on_fault: Any = lambda *_: None) -> Aligner:
    bundle = load(TINY_BUNDLE)
    tokenizers = load_tokenizers(bundle)
    return Aligner(
        tokenizers, bundle.manifest.special_tokens, attention, 1, time.monotonic, on_fault
    )


async def align(
    aligner: Aligner,
    translated: list[Part],
    seconds: float = 10.0,
    *,
    wanted: bool = True,
) -> list[Part]:
    deadline = time.monotonic() + seconds
    with aligner.promised([one.sentence.text for one in translated]) as promise:
        return await aligner.align(translated, AROUND, wanted, deadline, promise)


def aligned(attention: Attention, is_guess: bool = False) -> tuple[list[int], dict[str, int]]:
    """Align a sentence; return the source word of each target word, and the counted faults."""
    faults = Faults()
    aligner = aligner_of(attention, faults)
    try:
        alignment = aligner.alignment(Sentence(SOURCE), TARGET, AROUND)
    finally:
        aligner.close()
    assert np.isfinite(alignment.weights).all()
    assert alignment.weights.sum(axis=1) == pytest.approx(1)
    assert alignment.is_guess == is_guess
    return alignment.links(), faults.counts


def crossed(source: Sequence[int], target: Sequence[int]) -> Floats:
    """The last target token looks at the first source token, and so on."""
    rows = np.linspace(len(source) - 2, 1, len(target) - 2).round().astype(int)
    weights: Floats = np.eye(len(source), dtype=np.float32)[rows]
    return weights


def test_valid_attention_is_used() -> None:
    links, counts = aligned(crossed)
    assert links[0] > links[-2]
    assert counts == {}


def failing(*_: Any) -> Floats:
    raise RuntimeError("no attention")


def full_of(value: float) -> Attention:
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
def test_invalid_attention_falls_back_to_word_order(attention: Any) -> None:
    links, counts = aligned(attention, is_guess=True)
    assert links == sorted(links)
    assert links[0] == 0
    assert len(set(links)) >= 4  # of five words, which are of few pieces each
    assert counts == {"alignment": 1}


def test_attention_that_hangs_fails_at_the_deadline() -> None:
    end = threading.Event()

    def hanging(source: Sequence[int], target: Sequence[int]) -> Floats:
        assert end.wait(60)
        return crossed(source, target)

    aligner = aligner_of(hanging)
    try:
        with pytest.raises(DeadlineExceededError):
            asyncio.run(align(aligner, sentences(SOURCE, 1), seconds=0.05))
    finally:
        end.set()
        aligner.close()


def test_too_many_words_are_merged_and_count_as_a_guess() -> None:
    aligner = aligner_of(crossed)
    text = "€" * 2000  # any run of unknown characters is one token
    assert len(aligner.tokenizers.source.encode([text])[0]) < 10
    try:
        alignment = aligner.alignment(Sentence(text), text, AROUND)
        [found] = asyncio.run(align(aligner, [Part(Sentence(text), (text,), (-1.0,))]))
    finally:
        aligner.close()
    assert alignment.is_guess
    assert found.alignment is None, "it is not returned"
    assert alignment.weights.size <= 1_000_000


def test_tags_of_a_sentence_with_too_many_words_follow_groups_of_words() -> None:
    aligner = aligner_of(crossed)
    text = "€" * 1500 + " Hund"
    sentence = Sentence(text, (Tag(1501, "<b>", "open"), Tag(1505, "</b>", "close")))
    try:
        alignment = aligner.alignment(sentence, "€ " * 1500 + "dog", AROUND)
    finally:
        aligner.close()
    assert alignment.weights.size <= 1_000_000
    assert alignment.weights.sum(axis=1) == pytest.approx(1)
    assert (alignment.source_words[0], alignment.source_words[-1]) == ("€€", "Hund")


class Watched:
    """Attention that counts for whom it is asked, by the number of source tokens; one is begun at a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.next = threading.Semaphore(0)

    def __call__(self, source: Sequence[int], target: Sequence[int]) -> Floats:
        self.asked.append(len(source))
        assert self.next.acquire(timeout=10)
        return crossed(source, target)


def sentences(text: str, count: int) -> list[Part]:
    return [Part(Sentence(text), (TARGET,), (-1.0,))] * count


def test_alignments_of_a_request_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.translation.aligner.MAX_WORD_PAIRS", 70)  # 25 a sentence
    for seconds in (1e-9, 60.0):  # of a turn
        monkeypatch.setattr("service.translation.aligner.TURN_SECONDS", seconds)
        aligner = aligner_of(crossed)
        try:
            found = asyncio.run(align(aligner, sentences(SOURCE, 4)))
        finally:
            aligner.close()
        sizes = [one.alignment.weights.size if one.alignment else 0 for one in found]
        assert sizes == [25, 25, 0, 0]


@pytest.mark.parametrize("tags", [(), (Tag(0, "<b>", "open"), Tag(3, "</b>", "close"))])
@pytest.mark.parametrize("wanted", [True, False])
def test_alternatives_are_aligned_only_for_tags(tags: tuple[Tag, ...], wanted: bool) -> None:
    attention = Mock(side_effect=crossed)
    aligner = aligner_of(attention)
    targets = TARGET, "An old dog sleeps.", "The dog is asleep."
    translated = Part(Sentence(SOURCE, tags), targets, (-1.0, -2.0, -3.0))
    try:
        [found] = asyncio.run(align(aligner, [translated], wanted=wanted))
    finally:
        aligner.close()
    assert attention.call_count == (3 if tags else int(wanted))
    plain = [re.sub("</?b>", "", text) for text in found.written]
    assert plain == (list(targets) if tags else [])
    assert all(text.count("<b>") == text.count("</b>") == 1 for text in found.written)
    assert (found.alignment is not None) == wanted
    assert found.alignment is None or "".join(found.alignment.targets) == TARGET.replace(" ", "")


def test_the_ids_that_were_searched_are_aligned() -> None:
    asked: list[list[int]] = []

    def noting(source: Sequence[int], target: Sequence[int]) -> Floats:
        asked.append(list(target[1:-1]))
        return crossed(source, target)

    aligner = aligner_of(noting)
    tokenizer = aligner.tokenizers.target
    [usual] = tokenizer.encode([TARGET])
    the, *letters = (tokenizer._processor.piece_to_id(piece) for piece in ("he", "h", "e"))
    at = usual.index(the)
    spelt = [*usual[:at], *letters, *usual[at + 1 :]]
    assert tokenizer.decode([spelt]) == [TARGET]
    parts = [
        Part(Sentence(SOURCE), (TARGET,), (-1.0,), (tuple(ids),)) for ids in ((), spelt, [the])
    ]
    try:
        found = asyncio.run(align(aligner, parts))
    finally:
        aligner.close()
    assert asked == [usual, spelt, usual], "the last ones are not those of the text"
    assert [one.alignment and one.alignment.targets for one in found] == [
        ["The", "old", "dog", "sleeps", "."]
    ] * 3


def test_a_short_request_is_aligned_before_a_long_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "service.translation.aligner.TURN_SECONDS", 1e-9
    )  # over after each alignment
    attention = Watched()
    aligner = aligner_of(attention)

    async def run() -> None:
        long = asyncio.create_task(align(aligner, sentences(SOURCE, 40)))
        await until(lambda: len(attention.asked) == 1)
        shorts = [asyncio.create_task(align(aligner, sentences("Hund.", 2))) for _ in range(2)]
        await asyncio.sleep(0)  # both stand in line
        for _ in range(44):
            attention.next.release()
        assert [len(await task) for task in (*shorts, long)] == [2, 2, 40]

    try:
        asyncio.run(run())
    finally:
        aligner.close()
    long, *_, short = sorted(set(attention.asked), reverse=True)
    assert attention.asked[:6] == [long, short, short, long, short, short]
    assert attention.asked[6:] == [long] * 38


def test_a_turn_aligns_as_many_sentences_as_fit_in_its_time() -> None:
    attention = Watched()
    for _ in range(5):
        attention.next.release()
    aligner = aligner_of(attention)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("service.translation.aligner.TURN_SECONDS", 60.0)
            patch.setattr(aligner.backlog, "measured", turns := Mock())
            asyncio.run(align(aligner, sentences(SOURCE, 5)))
        turns.assert_called_once()
        cost, _ = turns.call_args.args
        assert cost == 5 * (100 + len(SOURCE) + len(TARGET))
    finally:
        aligner.close()


def test_cancelled_and_expired_requests_leave_the_backlog() -> None:
    attention = Watched()
    aligner = aligner_of(attention)
    aligner.backlog.measured(1, 0.001)

    async def run() -> None:
        first = asyncio.create_task(align(aligner, sentences(SOURCE, 9)))
        await until(lambda: len(attention.asked) == 1)
        waiting = asyncio.create_task(align(aligner, sentences(SOURCE, 9)))
        late = asyncio.create_task(align(aligner, sentences(SOURCE, 9), seconds=0.05))
        with pytest.raises(DeadlineExceededError):
            await late
        assert aligner.backlog.seconds == pytest.approx(
            2 * 9 * (0.1 + 0.001 * len(SOURCE + TARGET))
        )
        for task in (waiting, first):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert aligner.backlog.seconds == 0

    try:
        asyncio.run(run())
    finally:
        attention.next.release()
        aligner._threads.shutdown(wait=True)
    assert len(attention.asked) == 1


def test_large_alignments_run_one_at_a_time_and_those_that_wait_do_not_hang() -> None:
    now, may_end, running = 0.0, threading.Semaphore(0), list[int]()

    def attention(source: Sequence[int], target: Sequence[int]) -> Floats:
        running.append(1 + sum(running))
        assert may_end.acquire(timeout=60)
        running.append(-sum(running))
        return crossed(source, target)

    bundle, watch = load(TINY_BUNDLE), StallDetector(lambda: now)
    special = bundle.manifest.special_tokens
    aligner = Aligner(load_tokenizers(bundle), special, attention, 1, time.monotonic, watch=watch)
    source, target = [5, *[9] * 300, special.eos], [8] * 300
    threads = [
        threading.Thread(target=aligner.attended, args=(source, target, ((5,), ())))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: running == [1] and len(watch._runs) == 3)
    for changes in (3, 5, 6):  # 4 s for each
        assert watch.failure(5.0) is None
        now += 4.0
        assert watch.failure(5.0) is None
        may_end.release()
        wait_until(lambda count=changes: len(running) == count)  # type: ignore[misc]
    for thread in threads:
        thread.join(60)
    aligner.close()
    assert running == [1, -1] * 3

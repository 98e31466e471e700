"""From sentences to hypotheses, with engines that loop, hang or say nothing."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import aclosing

import pytest

from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.types import DecodingOptions, DecodingSequence, FinishReason, Hypothesis
from service.errors import DeadlineExceededError, QueueFullError
from service.translation import searcher
from service.translation.cache import SentenceCache
from service.translation.searcher import Found, Searcher
from tests.fakes import SPECIAL, EchoRunner, echo_of, echo_source

OPTIONS = DecodingOptions(max_decoding_length=40, beam_size=1)


class ScriptedEngine:
    """Returns the first result, or the second if repetitions are forbidden."""

    def __init__(self, first: Hypothesis, second: Hypothesis) -> None:
        self.first, self.second = first, second
        self.config = EngineConfig(num_workers=1, max_num_seqs=1)
        self.asked: list[DecodingOptions] = []

    def clock(self) -> float:
        return time.monotonic()

    def submit(
        self,
        items: Sequence[tuple[Sequence[int], DecodingOptions]],
        deadline: float,
        seconds_after: float,
        is_further: bool,
    ) -> list[DecodingSequence]:
        sequences = []
        for ids, options in items:
            self.asked.append(options)
            future: Future[list[Hypothesis]] = Future()
            future.set_result([self.second if options.no_repeat_ngram_size else self.first])
            sequences.append(DecodingSequence(tuple(ids), options, 0.0, deadline, future=future))
        return sequences


def search(seeker: Searcher, source: tuple[int, ...], seconds: float) -> dict[int, Found]:
    async def collect() -> dict[int, Found]:
        found: dict[int, Found] = {}
        async with aclosing(
            seeker.search([(source, OPTIONS)], time.monotonic() + seconds)
        ) as stream:
            async for done in stream:
                found |= done
        return found

    return asyncio.run(collect())


def searched(first: Hypothesis, second: Hypothesis, source: tuple[int, ...]) -> Found:
    engine = ScriptedEngine(first, second)
    seeker = Searcher(engine, SentenceCache(0))  # type: ignore[arg-type]
    return search(seeker, source, 10)[0]


def ended(*ids: int) -> Hypothesis:
    return Hypothesis(ids, -1.0, FinishReason.END)


def cut(*ids: int) -> Hypothesis:
    return Hypothesis(ids, -1.0, FinishReason.LENGTH)


GOOD, LOOP, EMPTY = ended(5, 6, 7), cut(*[5, 6] * 20), ended()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (GOOD, ended(9), Found([GOOD])),
        (LOOP, GOOD, Found([GOOD], is_repeated=True)),
        (EMPTY, GOOD, Found([GOOD], is_repeated=True)),
        (LOOP, EMPTY, Found([LOOP])),
        (EMPTY, EMPTY, Found([EMPTY])),
        (cut(1, 2, 3), cut(4, 5), Found([cut(1, 2, 3)])),
    ],
)
def test_runaway_translations_are_searched_again(
    first: Hypothesis, second: Hypothesis, expected: Found
) -> None:
    assert searched(first, second, (1, 8, 9, 3)) == expected


def test_a_repetition_in_the_source_may_be_translated() -> None:
    loop = ended(*[5, 6] * 10)
    assert searched(loop, GOOD, (1, *[8, 9] * 10, 3)) == Found([loop])


def test_a_hanging_engine_does_not_delay_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searcher, "GRACE_SECONDS", 0.1)
    runner = EchoRunner()
    engine = Engine([runner], SPECIAL, EngineConfig())
    engine.start()
    seeker = Searcher(engine, SentenceCache(0))
    source = tuple(echo_source(3))
    runner.hold.clear()
    try:
        with pytest.raises(DeadlineExceededError):
            search(seeker, source, 0.1)
        runner.hold.set()
        found = search(seeker, source, 10)[0]
        assert found.hypotheses[0].ids == echo_of(list(source))
    finally:
        engine.close()


class Crowded(ScriptedEngine):
    """Has room for the first request only."""

    def submit(
        self,
        items: Sequence[tuple[Sequence[int], DecodingOptions]],
        deadline: float,
        seconds_after: float,
        is_further: bool,
    ) -> list[DecodingSequence]:
        if self.asked and not is_further:
            raise QueueFullError("no room")
        return super().submit(items, deadline, seconds_after, is_further)


def test_a_search_is_repeated_although_the_queue_is_full() -> None:
    seeker = Searcher(Crowded(LOOP, GOOD), SentenceCache(0))  # type: ignore[arg-type]
    assert search(seeker, tuple(echo_source(3)), 10)[0] == Found([GOOD], is_repeated=True)


class Counting(ScriptedEngine):
    """Records how many sentences are submitted at once, and whether as a further search."""

    def __init__(self) -> None:
        super().__init__(LOOP, GOOD)
        self.submitted = list[tuple[int, bool]]()

    def submit(
        self,
        items: Sequence[tuple[Sequence[int], DecodingOptions]],
        deadline: float,
        seconds_after: float,
        is_further: bool,
    ) -> list[DecodingSequence]:
        self.submitted.append((len(items), is_further))
        return super().submit(items, deadline, seconds_after, is_further)


@pytest.mark.parametrize("is_further", [False, True])
@pytest.mark.parametrize(("limit", "num_workers"), [(2, 1), (1, 2)])
def test_further_searches_enter_the_queue_in_turns(
    monkeypatch: pytest.MonkeyPatch, is_further: bool, limit: int, num_workers: int
) -> None:
    monkeypatch.setattr(searcher, "FURTHER_AT_ONCE", limit)
    engine = Counting()
    engine.config = EngineConfig(num_workers=num_workers, max_num_seqs=1)
    seeker, found = Searcher(engine, SentenceCache(0)), dict[int, Found]()  # type: ignore[arg-type]

    async def collect() -> None:
        work = [(tuple(echo_source(length)), OPTIONS) for length in range(1, 6)]
        deadline = time.monotonic() + 60
        async with aclosing(seeker.search(work, deadline, is_further=is_further)) as stream:
            async for done in stream:
                found.update(done)

    asyncio.run(collect())
    in_turns = [(2, True), (2, True), (1, True)]
    assert engine.submitted == [*(in_turns if is_further else [(5, False)]), *in_turns]
    assert found == dict.fromkeys(range(5), Found([GOOD], is_repeated=True))


class HalfDone(ScriptedEngine):
    """Finishes the first sentence only."""

    def __init__(self) -> None:
        super().__init__(GOOD, GOOD)
        self.aborted = list[DecodingSequence]()

    def submit(
        self,
        items: Sequence[tuple[Sequence[int], DecodingOptions]],
        deadline: float,
        seconds_after: float,
        is_further: bool,
    ) -> list[DecodingSequence]:
        pending = [DecodingSequence(tuple(ids), options, 0.0) for ids, options in items[1:]]
        return [*super().submit(items[:1], deadline, seconds_after, is_further), *pending]

    def abort(self, sequences: Sequence[DecodingSequence]) -> None:
        self.aborted += sequences


def test_sentences_are_aborted_as_soon_as_the_search_is_closed() -> None:
    engine = HalfDone()
    seeker = Searcher(engine, SentenceCache(0))  # type: ignore[arg-type]

    async def first_alone() -> None:
        work = [((1, 8, 9, 3), OPTIONS), ((1, 9, 8, 3), OPTIONS)]
        async with aclosing(seeker.search(work, time.monotonic() + 60)) as stream:
            async for found in stream:
                assert found == {0: Found([GOOD])}
                break
        assert not engine.aborted[1].future.done()

    asyncio.run(first_alone())

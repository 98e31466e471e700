"""The halves of a translation through a third language: their flow, and what belongs together."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from service.engine.config import EngineConfig
from service.engine.scheduler import Schedule
from service.engine.types import DecodingSequence
from service.errors import QueueFullError, TextTooLongError
from service.models.bundle import load
from service.models.loading import ModelOptions, ServedModel, start_model
from service.models.model_set import ModelSet
from service.translation.options import TranslationOptions
from service.translation.pivot import Lookahead, pairs, pivoted
from service.translation.preparation import Preparation
from service.translation.sentence_translator import SentenceTranslator
from service.translation.types import Done, Event, SentenceResult, TranslatedSentence, Translation
from tests import toy
from tests.conftest import TINY_BUNDLE
from tests.service.api.model_folder import add
from tests.waiting import until

TEXT = " ".join(german for german, _ in toy.sentences()[:12])


def sentence(source: str, target: str) -> TranslatedSentence:
    return TranslatedSentence(source, (target,), (-1.0,), written=(target,))


def sides(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Of each pair its source, what is between, and its target."""
    found = pairs([sentence(*one) for one in first], [sentence(*one) for one in second])
    whole = [pair.sentence("en") for pair in found]
    return [(one.source, one.pivot_text, one.target) for one in whole]


def test_sentences_of_both_halves_are_paired() -> None:
    first = [("eins", "one"), ("zwei", "two "), ("zwei", "two"), ("drei", "three")]
    second = [("one", "un"), ("two", "deux"), ("two", "deux"), ("three", "trois")]
    assert sides(first, second) == [
        *(("eins", "one", "un"), ("zwei", "two ", "deux"), ("zwei", "two", "deux")),
        ("drei", "three", "trois"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([("a b", "A. B.")], [("A.", "1"), ("B.", "2")], [("a b", "A. B.", "1 2")]),
        ([("a", "A"), ("b", "B.")], [("A B.", "12")], [("a b", "A B.", "12")]),
        ([("a", "5"), ("b", "B")], [("B", "2")], [("a", "5", "5"), ("b", "B", "2")]),
        ([("b", "B")], [("OK", "ok"), ("B", "2")], [("OK", "OK", "ok"), ("b", "B", "2")]),
        ([], [], []),
    ],
)
def test_sentences_that_are_split_differently_are_merged(
    first: list[tuple[str, str]], second: list[tuple[str, str]], expected: list[tuple[str, ...]]
) -> None:
    assert sides(first, second) == expected


def test_texts_without_matching_sentences_are_complete() -> None:
    first = [(f"s{number}", f"t{number}") for number in range(50)]
    second = [(f"x{number}", f"y{number}") for number in range(40)]
    [(source, _, target)] = sides(first, second)
    assert source == " ".join(one for one, _ in first)
    assert target == " ".join(one for _, one in second)


@pytest.mark.parametrize("problems", [("too long", ""), ("", "too long")])
def test_a_text_is_never_left_in_the_pivot_language(problems: tuple[str, str]) -> None:
    errors = (TextTooLongError(one) if one else None for one in problems)
    first, second = (Translation("The dog sleeps.", (), (), error=one) for one in errors)
    found = pivoted("Der Hund schläft.", first, second, "en")
    assert (found.text, found.sentences, found.problem) == ("Der Hund schläft.", (), "too long")


@pytest.fixture
def models(tmp_path: Path) -> Iterator[ModelSet]:
    """One sentence at a time, so that the first half takes its time."""
    options = ModelOptions("cpu", "fp32", 1, EngineConfig(max_num_seqs=1))
    bundles = [load(TINY_BUNDLE), load(add(tmp_path, "nl"))]
    started = ModelSet([start_model(one, options) for one in bundles], 50_000, pivot="en")
    yield started
    assert started.close()


@pytest.fixture
def goes_on(models: ModelSet, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """For which the first half waits when it has translated some of its sentences."""
    event, [worker] = threading.Event(), models.models[0].engine._workers
    step = worker.step

    def held(schedule: Schedule) -> None:
        if worker.shared.scheduler.num_waiting <= 8:
            assert event.wait(60)
        step(schedule)

    monkeypatch.setattr(worker, "step", held)
    return event


def test_both_halves_overlap_and_no_sentence_is_translated_twice(
    models: ModelSet, goes_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (model.engine for model in models.models)
    submitted, waiting = list[Any](), list[int]()
    submit = second.submit

    def recorded(items: Any, *more: Any) -> Any:
        submitted.extend(items)
        waiting.append(first.num_waiting)
        goes_on.set()
        return submit(items, *more)

    monkeypatch.setattr(second, "submit", recorded)
    [found] = asyncio.run(models.translate([TEXT], "de", "nl", TranslationOptions(), 60))
    assert len(found.sentences) == 12
    assert len(submitted) == 12, "a sentence was searched for twice, or not at all"
    assert waiting[0] > 0, "the second half began when the first was done"


def test_sentences_that_waited_for_the_second_model_are_read_together_on_a_thread(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_apart, reads = Preparation.take_apart, list[tuple[int, bool]]()
    translate, is_done = SentenceTranslator.translate, threading.Event()

    @asynccontextmanager
    async def lease(model: ServedModel, _: float) -> AsyncIterator[ServedModel]:
        if model is models.models[1]:  # as if it was loaded when the first half is done
            await until(is_done.is_set)
        yield model

    async def noted(self: SentenceTranslator, *given: Any, **named: Any) -> Any:
        found = await translate(self, *given, **named)
        is_done.set()
        return found

    def recorded(self: Preparation, texts: Sequence[str], *more: Any) -> Any:
        if self.direction.target == "nl":
            reads.append((len(texts), threading.current_thread() is threading.main_thread()))
        return take_apart(self, texts, *more)

    monkeypatch.setattr(ServedModel, "lease", lease)
    monkeypatch.setattr(Preparation, "take_apart", recorded)
    monkeypatch.setattr(SentenceTranslator, "translate", noted)
    found = asyncio.run(models.translate([TEXT] * 2, "de", "nl", TranslationOptions(), 60))
    assert [len(one.sentences) for one in found] == [12, 12]
    # the first sentences of the texts, the others, and at the end, the whole texts
    assert reads == [(2, True), (22, False), (2, False)]


def test_an_unexpected_error_leaves_no_search_on_a_model_that_is_given_back(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, model = list[asyncio.Task[Any] | None](), models.models[1]

    async def failing(
        _: Lookahead, __: Preparation, results: Sequence[SentenceResult], *___: Any
    ) -> None:
        searches.append(asyncio.current_task())
        if results[0].segment:
            await asyncio.Event().wait()
        raise RuntimeError

    monkeypatch.setattr(Lookahead, "_translate", failing)

    async def run() -> None:
        [direction, *_] = model.bundle.manifest.directions
        ahead = Lookahead(
            model.translator, direction, TranslationOptions(), model.engine.clock() + 60
        )
        results = [SentenceResult(0, segment, sentence("eins", "one")) for segment in range(2)]
        with pytest.raises(RuntimeError):
            await ahead.translate(results, lambda *_: None)
        assert [search.done() for search in searches if search] == [True, True]

    asyncio.run(run())


def refuse(*_: object) -> None:
    raise QueueFullError("it would take too long", 1.0)


def overload(model: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a model refuse all requests, wherever it checks."""
    for check in ("check_deadline", "_check_room", "_check_time"):
        monkeypatch.setattr(model.engine, check, refuse)
    monkeypatch.setattr(model.translator._backlog, "_seconds_for", lambda _: 100.0)
    monkeypatch.setattr("service.translation.translator.EFFORT_ON_LOOP", 0)


def test_a_second_half_is_not_refused(models: ModelSet, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = models.models
    submit = first.engine.submit

    def submit_then_others_come(*given: Any) -> list[DecodingSequence]:
        overload(second, monkeypatch)
        return submit(*given)

    monkeypatch.setattr(first.engine, "submit", submit_then_others_come)
    monkeypatch.setattr(Lookahead, "translate", AsyncMock())
    [found] = asyncio.run(models.translate([TEXT], "de", "nl", TranslationOptions(), 60))
    assert len(found.sentences) == 12


def test_a_sentence_that_is_translated_early_is_not_refused(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, reported = models.models[1], list[int]()
    overload(model, monkeypatch)

    async def run() -> None:
        [direction, *_] = model.bundle.manifest.directions
        deadline = model.engine.clock() + 60
        ahead = Lookahead(model.translator, direction, TranslationOptions(), deadline)
        results = [SentenceResult(0, segment, sentence("eins", "one")) for segment in range(2)]
        await ahead.translate(results, lambda result, _: reported.append(result.segment))

    asyncio.run(run())
    assert sorted(reported) == [0, 1]


def test_a_request_is_refused_at_once_if_its_second_half_would_come_too_late(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = models.models
    submit = Mock()
    monkeypatch.setattr(second.engine, "check_deadline", refuse)
    monkeypatch.setattr(first.engine, "submit", submit)
    with pytest.raises(QueueFullError, match="it would take too long"):
        asyncio.run(models.translate([TEXT], "de", "nl", TranslationOptions(), 60))
    submit.assert_not_called()


def test_a_cancelled_request_leaves_no_work_behind(models: ModelSet) -> None:
    async def consume() -> None:
        async for _ in models.stream([TEXT] * 20, "de", "nl", TranslationOptions(), 60):
            pass

    async def run() -> None:
        task = asyncio.ensure_future(consume())
        await until(lambda: models.models[1].engine.num_running > 0 or task.done())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert models.drain(10)
    assert (models.num_waiting, models.num_running) == (0, 0)


def test_models_are_released_even_after_repeated_cancellation(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = set[str]()

    @asynccontextmanager
    async def lease(model: ServedModel, _: float) -> AsyncIterator[ServedModel]:
        name = model.bundle.manifest.name
        used.add(name)
        try:
            yield model
        finally:
            used.remove(name)

    monkeypatch.setattr(ServedModel, "lease", lease)

    async def run() -> None:
        using = models.translate([TEXT] * 5, "de", "nl", TranslationOptions(), 60)
        task = asyncio.ensure_future(using)
        await until(lambda: "tiny-nl" in used)
        while not task.done():  # as anyio does it
            task.cancel()
            await asyncio.sleep(0)
        assert not used

    asyncio.run(run())


@pytest.mark.parametrize("prefix", ["", "Die alte"])
def test_sentences_are_streamed_as_soon_as_both_models_are_done(
    models: ModelSet, goes_on: threading.Event, prefix: str
) -> None:
    options, waiting = TranslationOptions(target_prefix=prefix), list[int]()

    async def run() -> tuple[list[SentenceResult], Done]:
        events = list[Event]()
        async for event in models.stream([TEXT], "de", "nl", options, 60):
            events.append(event)
            waiting.append(models.models[0].engine.num_waiting)
            goes_on.set()
        *told, done = events
        assert isinstance(done, Done)
        return [one for one in told if isinstance(one, SentenceResult)], done

    told, done = asyncio.run(run())
    assert waiting[0] > 0, "the first sentence was told when the first half was done"
    told.sort(key=lambda one: one.segment)
    assert [one.segment for one in told] == list(range(12))
    assert " ".join(one.source for one in told) == TEXT
    assert [one.translated for one in told] == list(done.translations[0].sentences)


def test_a_text_that_is_split_differently_is_streamed_once(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_apart = models.models[1].translator.preparation

    def in_one(*asked: Any) -> Any:  # as if the second language had no full stops
        direction, options = asked
        whole = replace(options, splitting="none")
        return take_apart(direction, whole)

    monkeypatch.setattr(models.models[1].translator, "preparation", in_one)
    text = " ".join(TEXT.split(". ")[:3]) + "."

    async def run() -> list[Event]:
        return [
            event async for event in models.stream([text], "de", "nl", TranslationOptions(), 60)
        ]

    *told, done = asyncio.run(run())
    sources = [one.source for one in told if isinstance(one, SentenceResult)]
    assert " ".join(sources) == text
    assert isinstance(done, Done)

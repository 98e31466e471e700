"""Long work beside the event loop: where it runs, and that it ends when nobody waits for it any more."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from service.engine.types import DecodingOptions
from service.errors import (
    DeadlineExceededError,
    InvalidRequestError,
    LimitExceededError,
    QueueFullError,
)
from service.metrics import Metrics
from service.models.model_set import ModelSet
from service.settings import Settings
from service.text.document import Document
from service.text.pipeline import Pipeline
from service.text.sentence import Sentence
from service.text.stand_ins import StandIn
from service.translation.effort import effort_of
from service.translation.options import TranslationOptions
from service.translation.preparation import Preparation
from tests.service.translating import OPTIONS, TEXTS, outcomes, start, translate


def test_tokenization_stops_at_the_limit_of_sentences(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = start(Settings(precision="fp32", device="cpu", max_waiting=3), metrics)
    encoded = spied(models, monkeypatch)
    try:
        with pytest.raises(LimitExceededError, match="it has more than 3 sentences"):
            translate(models, ["Die alte Frau wartet.", "Die alte Frau wartet. " * 900])
    finally:
        models.close()
    assert encoded == ["Die alte Frau wartet."]
    assert outcomes(metrics) == {}


def spied(
    models: ModelSet, patch: pytest.MonkeyPatch, on_each: Callable[[], object] = lambda: None
) -> list[str]:
    """What is tokenized; `on_each` is called by the thread that does it."""
    tokenizer = models.models[0].translator.tokenizers.source
    encode, seen = tokenizer.encode, list[str]()

    def spy(sentences: Sequence[str]) -> list[list[int]]:
        seen.extend(sentences)
        on_each()
        return encode(sentences)

    patch.setattr(tokenizer, "encode", spy)
    return seen


def test_a_text_that_is_nested_too_deeply_fails_alone(models: ModelSet) -> None:
    deep, options = "<b>" * 101 + TEXTS[1] + "</b>" * 101, TranslationOptions(format="html")
    work = models.translate([TEXTS[0], deep], "de", "en", options, 60)
    first, second = asyncio.run(work)
    assert (first.problem, [first.text]) == ("", translate(models, TEXTS[:1]))
    assert second.text == deep
    assert "nested 101 deep, the limit is 100" in second.problem


class Gate:
    """Holds a thread until it may go on."""

    def __init__(self) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()

    def hold(self) -> None:
        self.asked.set()
        assert self.goes_on.wait(60)


PAGE = ["Die alte Frau wartet. " * 300]
"""Prepared by a thread of its own."""


def test_preparation_ends_at_the_deadline(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    monkeypatch.setattr(models.models[0].engine, "clock", lambda: sum(passed))
    encoded = spied(models, monkeypatch, lambda: passed.append(61))
    with pytest.raises(DeadlineExceededError, match="not finished within the deadline of 60 s"):
        translate(models, PAGE)
    assert len(encoded) == 1
    assert outcomes(metrics) == {"expired": 1}


def test_preparation_ends_when_its_request_is_cancelled(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    encoded = spied(models, monkeypatch, gate.hold)

    async def begin_and_cancel() -> None:
        task = asyncio.create_task(models.translate(PAGE, "de", "en", OPTIONS, 60))
        assert await asyncio.to_thread(gate.asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.goes_on.set()
        await asyncio.to_thread(models.models[0].translator._threads.shutdown)

    asyncio.run(begin_and_cancel())
    assert len(encoded) == 1
    assert outcomes(metrics) == {"cancelled": 1}


def test_long_texts_are_prepared_one_at_a_time_unless_cancelled(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, at_once = Gate(), list[int]()
    lock, preparing = threading.Lock(), set[int]()

    def hold() -> None:
        with lock:
            preparing.add(threading.get_ident())
            at_once.append(len(preparing))
        gate.hold()

    encoded = spied(models, monkeypatch, hold)

    async def run() -> None:
        pages = [models.translate(PAGE, "de", "en", OPTIONS, 60) for _ in range(20)]
        first, *others = [asyncio.create_task(page) for page in pages]
        assert await asyncio.to_thread(gate.asked.wait, 60)
        for task in others:
            task.cancel()
        assert all(
            isinstance(one, BaseException)
            for one in await asyncio.gather(*others, return_exceptions=True)
        )
        gate.goes_on.set()
        await first

    asyncio.run(run())
    assert set(at_once) == {1}
    assert len(encoded) == 300
    assert outcomes(metrics) == {"cancelled": 19, "ok": 300}


def test_a_long_text_that_would_be_prepared_too_late_is_refused(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    models.models[0].translator._backlog.measured(effort_of(PAGE), 10.0)
    encoded = spied(models, monkeypatch, gate.hold)

    async def run() -> None:
        first = asyncio.create_task(models.translate(PAGE, "de", "en", OPTIONS, 60))
        assert await asyncio.to_thread(gate.asked.wait, 60)
        with pytest.raises(
            QueueFullError, match=r"may take 30\.\d s to read the text, and the deadline is 20\.0 s"
        ) as refused:
            await models.translate(PAGE, "de", "en", OPTIONS, 20)
        assert refused.value.retry_after == pytest.approx(20, rel=0.1)
        gate.goes_on.set()
        await first

    asyncio.run(run())
    assert len(encoded) == 300
    assert outcomes(metrics) == {"rejected": 1, "ok": 300}


def test_long_texts_are_assembled_outside_the_event_loop(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    filled = Document.filled

    def spy(*arguments: Any) -> str:
        threads.append(threading.current_thread())
        return filled(*arguments)

    monkeypatch.setattr(Document, "filled", spy)
    translate(models, PAGE)
    translate(models, TEXTS[:1])
    assert [one is threading.main_thread() for one in threads] == [False, True]


def test_a_prefix_with_unknown_characters_is_refused(
    models: ModelSet,
) -> None:
    for prefix, lacking in (
        ("The \u2603 waits", "\u2603"),
        ("\u2603\u2604 \u2603", "\u2603\u2604"),
    ):
        options = replace(OPTIONS, target_prefix=prefix)
        with pytest.raises(InvalidRequestError, match=f'cannot write: "{lacking}"'):
            asyncio.run(models.translate(TEXTS[:1], "de", "en", options, 60))


@pytest.mark.parametrize(
    ("stand_in", "limit", "begins"),
    [
        ("Tom", 9, "The Tom"),
        ("Tom", 6, "The dog"),  # with the name it has as many tokens
        ("20", 9, "The dog"),  # which the vocabulary lacks
    ],
)
def test_forced_tokens_encode_the_prefix_with_stand_ins(
    models: ModelSet, stand_in: str, limit: int, begins: str
) -> None:
    translator = models.models[0].translator
    manifest, tokenizers = translator.manifest, translator.tokenizers
    options, decoding = replace(OPTIONS, target_prefix="The dog"), DecodingOptions(limit)
    request = Preparation(
        manifest, tokenizers, manifest.directions[0], options, decoding, Pipeline()
    )
    asked = Sentence("Der Hund", stand_ins=(StandIn(stand_in, "dog", "dog"),))
    task = request.task(asked.beginning("The dog"))
    [(_, work)] = task.work
    assert task.sentence.prefix == begins
    assert tokenizers.target.decode([work.target_prefix]) == [begins]

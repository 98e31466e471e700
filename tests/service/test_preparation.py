"""Long work beside the event loop: where it runs, and that it ends when nobody waits for it any more."""

import asyncio
import threading
from collections.abc import Callable
from collections.abc import Sequence as Items
from typing import Any

import pytest

from service.errors import DeadlineExceededError, LimitExceededError
from service.metrics import Metrics
from service.model_set import ModelSet
from service.settings import Settings
from service.text.document import Document
from tests.service.translating import OPTIONS, TEXTS, outcomes, start, translate


def test_nothing_is_tokenized_beyond_the_sentences_that_may_ever_wait(
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

    def spy(sentences: Items[str]) -> list[list[int]]:
        seen.extend(sentences)
        on_each()
        return encode(sentences)

    patch.setattr(tokenizer, "encode", spy)
    return seen


PAGE = ["Die alte Frau wartet. " * 300]
"""Prepared by a thread of its own."""


def test_preparation_ends_at_the_deadline(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    monkeypatch.setattr(models.models[0].engine, "clock", lambda: sum(passed))
    encoded = spied(models, monkeypatch, lambda: passed.append(61))
    with pytest.raises(DeadlineExceededError, match="not done within the deadline of 60 s"):
        translate(models, PAGE)
    assert len(encoded) == 1
    assert outcomes(metrics) == {"expired": 1}


def test_preparation_ends_with_its_request(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def hold() -> None:
        asked.set()
        assert goes_on.wait(10)

    encoded = spied(models, monkeypatch, hold)

    async def begin_and_cancel() -> None:
        task = asyncio.create_task(models.translate(PAGE, "de", "en", OPTIONS, 60))
        assert await asyncio.to_thread(asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        goes_on.set()
        await asyncio.get_running_loop().shutdown_default_executor()  # as at the end of a server

    asyncio.run(begin_and_cancel())
    assert len(encoded) == 1
    assert outcomes(metrics) == {"cancelled": 1}


def test_a_page_is_put_together_beside_the_event_loop(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    assemble = Document.assemble

    def spy(*arguments: Any) -> str:
        threads.append(threading.current_thread())
        return assemble(*arguments)

    monkeypatch.setattr(Document, "assemble", spy)
    translate(models, PAGE)
    translate(models, TEXTS[:1])
    assert [one is threading.main_thread() for one in threads] == [False, True]

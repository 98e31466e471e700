"""Translation through two models, without HTTP."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from service.engine.types import Work
from service.errors import ModelUnavailableError, TextTooLongError
from service.metrics import Metrics
from service.models.language_routes import GROUPS_AHEAD, Hop, translate_along
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.translation.pivot import Lookahead, pivoted
from service.translation.preparation import Preparation
from service.translation.searcher import Found
from service.translation.types import SentenceResult, Translation
from tests.service.translating import OPTIONS, TEXTS, outcomes


class Missing:
    """A model that cannot be loaded."""

    loaded = None

    @asynccontextmanager
    async def lease(self, timeout: float) -> AsyncIterator[ServedModel]:
        raise ModelUnavailableError("it cannot be loaded", timeout)
        yield


def one_by_one(models: ModelSet, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Make a model find one translation after the other, with time for other work, then set an event."""
    is_done = asyncio.Event()
    searcher = models.own[0].translator.searcher
    search = searcher.search

    async def slowly(
        work: Sequence[Work], deadline: float, *further: object
    ) -> AsyncIterator[dict[int, Found]]:
        for at, one in enumerate(work):
            async for found in search([one], deadline):
                yield {at: found[0]}
            for _ in range(100):
                await asyncio.sleep(0)
        is_done.set()

    monkeypatch.setattr(searcher, "search", slowly)
    return is_done


def test_sentences_are_not_counted_as_rejected_if_the_second_model_fails_to_load(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one(models, monkeypatch)  # meanwhile, the second model turns out not to come
    first = models.own[0]
    there, back = first.bundle.manifest.directions
    hops = [Hop(first, there), Hop(cast(ServedModel, Missing()), back)]
    with pytest.raises(ModelUnavailableError, match="it cannot be loaded"):
        asyncio.run(translate_along(hops, TEXTS, OPTIONS, 60))
    assert outcomes(metrics) == {"cancelled": len(TEXTS)}


def there_and_back(models: ModelSet, texts: Sequence[str]) -> list[Translation]:
    [model] = models.own
    hops = [Hop(model, direction) for direction in model.bundle.manifest.directions]
    return asyncio.run(translate_along(hops, texts, OPTIONS, 60))


def test_a_long_text_is_not_many_short_requests_to_the_second_model(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_done, groups = one_by_one(models, monkeypatch), list[int]()

    async def translate(self: Lookahead, results: Sequence[SentenceResult], _: object) -> None:
        groups.append(len(results))
        await is_done.wait()

    monkeypatch.setattr(Lookahead, "translate", translate)
    assert len(there_and_back(models, TEXTS * 4)) == 8
    assert groups == [*[1] * GROUPS_AHEAD, 8 - GROUPS_AHEAD]


def test_both_halves_of_long_texts_are_matched_on_a_thread(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[threading.Thread]()

    def noting_the_thread(*given: Any) -> Translation:
        threads.append(threading.current_thread())
        return pivoted(*given)

    monkeypatch.setattr("service.models.language_routes.pivoted", noting_the_thread)
    found = there_and_back(models, ["Der Hund schläft. " * 9] * 2)
    assert [len(one.sentences) for one in found] == [9, 9]
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_each_text_of_a_list_may_be_too_long_for_one_of_the_halves(
    models: ModelSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_apart = Preparation._take_apart

    def limited(self: Preparation, text: str, *more: Any) -> Any:
        if self.direction.source == "en" or "zu lang" in text:
            raise TextTooLongError(f"too long for {self.direction.target}")
        return take_apart(self, text, *more)

    monkeypatch.setattr(Preparation, "_take_apart", limited)
    texts = ["Das ist zu lang.", "Der Hund schläft."]
    found = there_and_back(models, texts)
    assert [one.text for one in found] == texts
    assert [one.problem for one in found] == ["too long for en", "too long for de"]

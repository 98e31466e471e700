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
from service.models.language_routes import Hop, translate_along
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.translation.pivot import pivoted
from service.translation.preparation import Preparation
from service.translation.searcher import Found
from service.translation.types import Translation
from tests.service.translating import OPTIONS, TEXTS, outcomes


class Missing:
    """A model that cannot be loaded."""

    loaded = None

    @asynccontextmanager
    async def lease(self, timeout: float) -> AsyncIterator[ServedModel]:
        raise ModelUnavailableError("it cannot be loaded", timeout)
        yield


def test_sentences_are_not_counted_as_rejected_if_the_second_model_fails_to_load(
    models: ModelSet, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = models.own[0]
    searcher = first.translator.searcher
    search = searcher.search

    async def one_by_one(
        work: Sequence[Work], deadline: float, *further: object
    ) -> AsyncIterator[dict[int, Found]]:
        for at, one in enumerate(work):
            async for found in search([one], deadline):
                yield {at: found[0]}
            for _ in range(100):  # in which the second model turns out not to come
                await asyncio.sleep(0)

    monkeypatch.setattr(searcher, "search", one_by_one)
    there, back = first.bundle.manifest.directions
    hops = [Hop(first, there), Hop(cast(ServedModel, Missing()), back)]
    with pytest.raises(ModelUnavailableError, match="it cannot be loaded"):
        asyncio.run(translate_along(hops, TEXTS, OPTIONS, 60))
    assert outcomes(metrics) == {"cancelled": len(TEXTS)}


def there_and_back(models: ModelSet, texts: Sequence[str]) -> list[Translation]:
    [model] = models.own
    hops = [Hop(model, direction) for direction in model.bundle.manifest.directions]
    return asyncio.run(translate_along(hops, texts, OPTIONS, 60))


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

"""Translation through two models, without HTTP."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest

from service.engine.types import Work
from service.errors import ModelUnavailableError
from service.metrics import Metrics
from service.models.language_routes import Hop, translate_along
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.translation.searcher import Found
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

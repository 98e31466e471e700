"""Which model, or which two in a row, lead from one language to another, and how texts take that way."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cache
from types import TracebackType
from typing import Any, Self

from service.models.bundle import Direction
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from service.text.languages import standard
from service.translation.pivot import Lookahead, pivoted
from service.translation.streaming import Tell
from service.translation.types import SentenceResult, Translation, TranslationOptions

Codes = tuple[str, str]
"""Of source and target."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of one model."""

    model: ServedModel | PooledModel
    direction: Direction


class Routes:
    """All ways between the languages of some models, by codes of BCP 47, whatever the models call them."""

    def __init__(self, models: Sequence[ServedModel | PooledModel], pivot: str = "") -> None:
        """Where two models have the same direction, the first one serves it.

        `pivot` is the language through which texts go where no model has their direction; "" is none.
        """
        self._models, self.pivot = models, standard(pivot) if pivot else ""
        self._direct: dict[Codes, Hop] = {}
        known = cache(standard)
        for model in models:
            for direction in model.bundle.manifest.directions:
                codes = (known(direction.source), known(direction.target))
                self._direct.setdefault(codes, Hop(model, direction))
        targets: dict[str, set[str]] = {}
        for source, target in self._direct:
            targets.setdefault(source, set()).add(target)
        onwards = targets.get(self.pivot, set())
        self.pivoted = {
            source: sorted(onwards - near - {source}) if self.pivot in near else []
            for source, near in targets.items()
        }
        """By source, the targets that are reached through the pivot language."""
        self.languages = {
            source: sorted([*near, *self.pivoted[source]])
            for source, near in sorted(targets.items())
        }
        """By source, its targets, all in their order."""

    def find(self, source: str, target: str) -> tuple[Hop, ...] | None:
        """The way from one language to another; None where there is none."""
        if hop := self._direct.get((source, target)):
            return (hop,)
        first, second = (
            self._direct.get((source, self.pivot)),
            self._direct.get((self.pivot, target)),
        )
        return (first, second) if first and second and source != target else None

    def unloaded(self, source: str) -> list[str]:
        """Targets of a source for which a model must be loaded first."""
        if all(model.loaded for model in self._models):
            return []
        return [
            target
            for target in self.languages[source]
            if not all(hop.model.loaded for hop in self.find(source, target) or ())
        ]


async def translate_along(
    hops: Sequence[Hop],
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    tell: Tell | None = None,
) -> list[Translation]:
    """Translate texts that take the same way; see `Translator.translate`."""
    if len(hops) > 1:
        return await _through(hops[0], hops[1], texts, options, timeout, tell)
    return await _direct(hops[0], texts, options, timeout, tell)


async def _direct(
    hop: Hop,
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    tell: Tell | None,
) -> list[Translation]:
    end = time.monotonic() + timeout
    async with hop.model.lease(timeout) as model:
        deadline = model.engine.clock() + end - time.monotonic()
        return await model.translator.translate(texts, hop.direction, options, deadline, tell=tell)


async def _through(
    first: Hop,
    second: Hop,
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    tell: Tell | None,
) -> list[Translation]:
    """Translate through a third language; a sentence is told of when both models are done with it."""
    end, told = time.monotonic() + timeout, set[tuple[int, int]]()
    options = replace(options, align=False)
    here = replace(options, alternatives=0, target_prefix="")
    language = standard(first.direction.target)

    def tell_once(sentence: SentenceResult) -> None:
        told.add((sentence.text, sentence.segment))
        if tell is not None:
            tell(sentence)

    async with _SecondHalf(second, options, end, language, tell_once) as half:
        between = await half.beside(_direct(first, texts, here, timeout, half.look_ahead))
        await half.looked_ahead()
        done = iter(await half.translations([one.text for one in between if not one.problem]))
    halves = [(one, one if one.problem else next(done)) for one in between]
    whole = [pivoted(text, *both, language) for text, both in zip(texts, halves, strict=True)]
    begun = {text for text, _ in told}
    for text, (one, half_way) in enumerate(zip(whole, between, strict=True)):
        # else the whole text is divided in another way than its sentences, which have been told
        if text not in begun or len(one.sentences) == len(half_way.sentences):
            for number, sentence in enumerate(one.sentences):
                if (text, number) not in told:
                    tell_once(SentenceResult(text, number, sentence))
    return whole


class _SecondHalf:
    """The second model of a way, which is loaded while the first one translates.

    The first one may be unloaded as soon as it is done: no request keeps a model for which another one waits
    while it waits for a model itself.
    """

    def __init__(
        self, hop: Hop, options: TranslationOptions, end: float, language: str, tell: Tell
    ) -> None:
        """Of one request, which is given up at `end` by the monotonic clock, through a `language`."""
        self._hop, self._options, self._end, self._language = hop, options, end, language
        self._tell = tell
        self._stack = AsyncExitStack()
        self._first: asyncio.Future[list[Translation]] | None = None
        self._coming: asyncio.Future[ServedModel] | None = None
        self._ahead: Lookahead | None = None
        self._searches: list[asyncio.Future[None]] = []

    async def beside(self, first: Coroutine[Any, Any, list[Translation]]) -> list[Translation]:
        """What the first half makes; it is given up once the second model is known not to come.

        Raises:
            AttendantError: one of the models does not come, or the first half was not done.
        """
        self._first = asyncio.ensure_future(first)
        await asyncio.wait([self._first])
        if self._first.cancelled():
            await self._model()
        return self._first.result()

    def look_ahead(self, first: SentenceResult) -> None:
        """Begin with a sentence that the first half is done with."""
        self._searches.append(asyncio.ensure_future(self._look_ahead(first)))

    async def looked_ahead(self) -> None:
        """Wait until all sentences are found that have begun.

        Raises:
            AttendantError: the second model does not come.
        """
        await asyncio.gather(*self._searches)

    async def translations(self, texts: Sequence[str]) -> list[Translation]:
        """Those of the texts that the first half has made.

        Raises:
            AttendantError: they were not done.
        """
        model = await self._model()
        searcher = self._ahead.searcher if self._ahead else None
        how = self._hop.direction, self._options, self._deadline(model), searcher
        return await model.translator.translate(texts, *how)

    def _model(self) -> "asyncio.Future[ServedModel]":
        """The model, asked for now if it was not before."""
        if self._coming is None:
            lease = self._hop.model.lease(self._end - time.monotonic())
            self._coming = asyncio.ensure_future(self._stack.enter_async_context(lease))
            self._coming.add_done_callback(self._give_up_if_failed)
        return self._coming

    def _give_up_if_failed(self, coming: "asyncio.Future[ServedModel]") -> None:
        if self._first is not None and (coming.cancelled() or coming.exception() is not None):
            self._first.cancel()

    async def _look_ahead(self, first: SentenceResult) -> None:
        model = await asyncio.shield(self._model())
        if self._ahead is None:
            how = self._hop.direction, self._options, self._deadline(model)
            self._ahead = Lookahead(model.translator, *how)
        if pair := await self._ahead.translated(first):
            self._tell(replace(first, translated=pair.sentence(self._language)))

    def _deadline(self, model: ServedModel) -> float:
        return model.engine.clock() + self._end - time.monotonic()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give up what has begun, and the model."""
        begun = [one for one in (self._first, self._coming, *self._searches) if one is not None]
        for one in begun:
            one.cancel()
        try:
            await asyncio.gather(*begun, return_exceptions=True)
        finally:  # even if this is cancelled, too
            await self._stack.aclose()

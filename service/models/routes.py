"""Which model, or which two in a row, lead from one language to another, and how texts take that way."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from functools import cache
from types import TracebackType
from typing import Any, Self

from service.models.bundle import Direction
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from service.text.languages import standard
from service.translation.merging import detached
from service.translation.pivot import Lookahead, pivoted
from service.translation.types import (
    Done,
    Event,
    SentenceResult,
    Translation,
    TranslationOptions,
    collected,
)

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


def stream_along(
    hops: Sequence[Hop], texts: Sequence[str], options: TranslationOptions, timeout: float
) -> AsyncGenerator[Event, None]:
    """Translate texts that take the same way; see `Translator.stream`."""
    if len(hops) > 1:
        return _through(hops[0], hops[1], texts, options, timeout)
    return _direct(hops[0], texts, options, timeout)


async def _direct(
    hop: Hop, texts: Sequence[str], options: TranslationOptions, timeout: float
) -> AsyncGenerator[Event, None]:
    end = time.monotonic() + timeout
    async with hop.model.lease(timeout) as model:
        deadline = model.engine.clock() + end - time.monotonic()
        events = model.translator.stream(texts, hop.direction, options, deadline)
        async with aclosing(events):
            async for event in events:
                yield event


async def _through(
    first: Hop, second: Hop, texts: Sequence[str], options: TranslationOptions, timeout: float
) -> AsyncGenerator[Event, None]:
    """Translate through a third language; a sentence is given out when both models are done with it."""
    end, told, between = time.monotonic() + timeout, set[tuple[int, int]](), list[Translation]()
    options = replace(options, align=False)
    here = replace(options, alternatives=0, target_prefix="")
    language = standard(first.direction.target)
    async with _SecondHalf(second, options, end, language) as half:
        events = detached(half.following(_direct(first, texts, here, timeout)), half.sentences())
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    between = event.translations
                else:
                    told.add((event.text, event.segment))
                    yield event
        done = iter(await half.translations([one.text for one in between if not one.problem]))
    halves = [(one, one if one.problem else next(done)) for one in between]
    whole = [pivoted(text, *both, language) for text, both in zip(texts, halves, strict=True)]
    begun = {text for text, _ in told}
    for text, (one, half_way) in enumerate(zip(whole, between, strict=True)):
        # else the whole text is divided in another way than its sentences, which have been told
        if text not in begun or len(one.sentences) == len(half_way.sentences):
            for number, sentence in enumerate(one.sentences):
                if (text, number) not in told:
                    yield SentenceResult(text, number, sentence)
    yield Done(whole)


class _SecondHalf:
    """The second model of a way, which is loaded while the first one translates.

    The first one may be unloaded as soon as it is done: no request keeps a model for which another one waits
    while it waits for a model itself.
    """

    def __init__(self, hop: Hop, options: TranslationOptions, end: float, language: str) -> None:
        """Of one request, which is given up at `end` by the monotonic clock, through a `language`."""
        self._hop, self._options, self._end, self._language = hop, options, end, language
        self._stack = AsyncExitStack()
        self._coming: asyncio.Future[ServedModel] | None = None
        self._ahead: Lookahead | None = None
        self._searches: list[asyncio.Future[None]] = []
        self._found: asyncio.Queue[SentenceResult | None] = asyncio.Queue()

    async def following(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Look ahead for each sentence of the first half; gives its end when all of them are found.

        Raises:
            AttendantError: the first half failed, or the second model does not come.
        """
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    done = event
                else:
                    if (coming := self._model()).done():
                        coming.result()
                    self._searches.append(asyncio.ensure_future(self._look_ahead(event)))
        await asyncio.gather(*self._searches)
        self._found.put_nowait(None)
        yield done

    async def sentences(self) -> AsyncGenerator[Event, None]:
        """The sentences that both models are done with, until all are found that were looked for."""
        while (found := await self._found.get()) is not None:
            yield found

    async def translations(self, texts: Sequence[str]) -> list[Translation]:
        """Those of the texts that the first half has made.

        Raises:
            AttendantError: they were not done.
        """
        model = await self._model()
        searcher = self._ahead.searcher if self._ahead else None
        how = self._hop.direction, self._options, self._deadline(model), searcher
        return await collected(model.translator.stream(texts, *how))

    def _model(self) -> "asyncio.Future[ServedModel]":
        """The model, asked for now if it was not before."""
        if self._coming is None:
            lease = self._hop.model.lease(self._end - time.monotonic())
            self._coming = asyncio.ensure_future(self._stack.enter_async_context(lease))
        return self._coming

    async def _look_ahead(self, first: SentenceResult) -> None:
        model = await asyncio.shield(self._model())
        if self._ahead is None:
            how = self._hop.direction, self._options, self._deadline(model)
            self._ahead = Lookahead(model.translator, *how)
        if pair := await self._ahead.translated(first):
            self._found.put_nowait(replace(first, translated=pair.sentence(self._language)))

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
        begun = list[asyncio.Future[Any]](self._searches)
        if self._coming is not None:
            begun.append(self._coming)
        for one in begun:
            one.cancel()
        try:
            await asyncio.gather(*begun, return_exceptions=True)
        finally:  # even if this is cancelled, too
            await self._stack.aclose()

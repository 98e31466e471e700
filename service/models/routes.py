"""Which model, or which two in a row, lead from one language to another, and how texts take that way."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from functools import cache
from types import TracebackType
from typing import Self

from service.models.bundle import Direction
from service.models.loading import ServedModel
from service.models.pool import PooledModel
from service.text.languages import standard
from service.translation.pivot import Lookahead, pivoted
from service.translation.types import (
    Done,
    Event,
    SentenceResult,
    TranslatedSentence,
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
    """Translate through a third language; sentences are given out when all of them are done."""
    end, between = time.monotonic() + timeout, list[Translation]()
    options = replace(options, align=False)
    async with AsyncExitStack() as stack:
        async with first.model.lease(timeout) as model:
            half = await stack.enter_async_context(_SecondHalf(second, options, end))
            here = replace(options, alternatives=0, target_prefix="")
            deadline = model.engine.clock() + end - time.monotonic()
            events = model.translator.stream(texts, first.direction, here, deadline)
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Done):
                        between = event.translations
                    else:
                        half.expect(event.translated)
        done = iter(await half.translations([one.text for one in between if not one.problem]))
    language = standard(first.direction.target)
    halves = [(one, one if one.problem else next(done)) for one in between]
    whole = [pivoted(text, *both, language) for text, both in zip(texts, halves, strict=True)]
    for text, translation in enumerate(whole):
        for number, sentence in enumerate(translation.sentences):
            yield SentenceResult(text, number, sentence)
    yield Done(whole)


class _SecondHalf:
    """The second model of a way, which is loaded while the first one translates.

    The first one may be unloaded as soon as it is done: no request keeps a model for which another one waits
    while it waits for a model itself.
    """

    def __init__(self, hop: Hop, options: TranslationOptions, end: float) -> None:
        """Of one request, which is given up at `end` by the monotonic clock."""
        self._hop, self._options, self._end = hop, options, end
        self._stack = AsyncExitStack()
        self._ahead: Lookahead | None = None
        self._expected: list[TranslatedSentence] = []

    async def __aenter__(self) -> Self:
        lease = self._hop.model.lease(self._end - time.monotonic())
        self._coming = asyncio.ensure_future(self._stack.enter_async_context(lease))
        return self

    def expect(self, first: TranslatedSentence) -> None:
        """Begin with a sentence of the first half, if the model is there.

        Raises:
            AttendantError: it does not come.
        """
        self._expected.append(first)
        if not self._coming.done():
            return
        if self._ahead is None:
            model = self._coming.result()
            self._ahead = Lookahead(
                model.translator, self._hop.direction, self._options, self._deadline(model)
            )
        expected, self._expected = self._expected, []
        for one in expected:
            self._ahead.expect(one)

    async def translations(self, texts: Sequence[str]) -> list[Translation]:
        """Those of the texts that the first half has made.

        Raises:
            AttendantError: they were not done.
        """
        model, searcher = await self._coming, None
        if self._ahead is not None:
            await self._ahead.finished()
            searcher = self._ahead.searcher
        return await collected(
            model.translator.stream(
                texts, self._hop.direction, self._options, self._deadline(model), searcher
            )
        )

    def _deadline(self, model: ServedModel) -> float:
        return model.engine.clock() + self._end - time.monotonic()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give up what has begun, and the model."""
        if self._ahead is not None:
            await self._ahead.close()
        self._coming.cancel()
        await asyncio.gather(self._coming, return_exceptions=True)
        await self._stack.aclose()

"""Finds the model, or the two models through a pivot language, for a language pair, and runs them."""

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
from service.translation.effort import effort_of
from service.translation.offload import Check
from service.translation.options import TranslationOptions
from service.translation.pivot import Lookahead, MatchedSentences, pivoted
from service.translation.streaming import OnSentence
from service.translation.types import SentenceResult, Translation

GROUPS_AHEAD = 4
"""Groups of sentences that the second model of a route translates at once while the first one is at work.

To its queue, each is a request. So a long text must not be as many short requests, which others wait for.
"""
Codes = tuple[str, str]
"""Source and target language."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of one model."""

    model: ServedModel | PooledModel
    direction: Direction


class LanguageRoutes:
    """All routes between the languages of some models, by BCP 47 codes, whatever codes the models use."""

    def __init__(self, models: Sequence[ServedModel | PooledModel], pivot: str = "") -> None:
        """If two models have the same direction, the first one serves it.

        If no model has their direction, texts are translated through the language `pivot`, if it is not "".
        """
        self._models, self.pivot = models, standard(pivot) if pivot else ""
        self._direct: dict[Codes, Hop] = {}
        standard_code = cache(standard)
        for model in models:
            for direction in model.bundle.manifest.directions:
                codes = (standard_code(direction.source), standard_code(direction.target))
                self._direct.setdefault(codes, Hop(model, direction))
        targets: dict[str, set[str]] = {}
        for source, target in self._direct:
            targets.setdefault(source, set()).add(target)
        beyond_pivot = targets.get(self.pivot, set())
        self.pivoted = {
            source: sorted(beyond_pivot - direct_targets - {source})
            if self.pivot in direct_targets
            else []
            for source, direct_targets in targets.items()
        }
        """The targets that each source reaches through the pivot language."""
        self.languages = {
            source: sorted([*direct_targets, *self.pivoted[source]])
            for source, direct_targets in sorted(targets.items())
        }
        """The sorted targets of each source, by sorted source."""
        self.sources = list(self.languages)
        self.targets = sorted({target for targets in self.languages.values() for target in targets})

    @property
    def has_pivot(self) -> bool:
        """Whether models translate both into and from the pivot language."""
        sources = {source for source, _ in self._direct}
        targets = {target for _, target in self._direct}
        return self.pivot in sources & targets

    def find(self, source: str, target: str) -> tuple[Hop, ...] | None:
        """Return one hop, two hops through the pivot language, or None if there is no route."""
        if hop := self._direct.get((source, target)):
            return (hop,)
        into_pivot, from_pivot = (
            self._direct.get((source, self.pivot)),
            self._direct.get((self.pivot, target)),
        )
        return (into_pivot, from_pivot) if into_pivot and from_pivot and source != target else None

    def unloaded(self, source: str) -> list[str]:
        """Return the targets of a source for which a model is not loaded yet."""
        if all(model.loaded for model in self._models):
            return []
        return [
            target
            for target in self.languages[source]
            if not all(hop.model.loaded for hop in self.find(source, target) or ())
        ]

    def successors(self, current: "LanguageRoutes") -> list[PooledModel]:
        """Return the models that are not loaded, but translate what loaded ones of `current` do."""
        models = [
            hop.model
            for source in current.languages
            for target in set(current.languages[source]).difference(current.unloaded(source))
            for hop in self.find(source, target) or ()
            if isinstance(hop.model, PooledModel) and hop.model.loaded is None
        ]
        return list(dict.fromkeys(models))


async def translate_along(
    hops: Sequence[Hop],
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    on_sentence: OnSentence | None = None,
) -> list[Translation]:
    """Translate texts along the same hops; see `ModelTranslator.translate`."""
    if len(hops) > 1:
        return await _through(hops[0], hops[1], texts, options, timeout, on_sentence)
    return await _direct(hops[0], texts, options, timeout, on_sentence)


async def _direct(
    hop: Hop,
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    on_sentence: OnSentence | None,
) -> list[Translation]:
    end = time.monotonic() + timeout
    async with hop.model.lease(timeout) as model:
        deadline = model.engine.clock() + end - time.monotonic()
        return await model.translator.translate(
            texts, hop.direction, options, deadline, on_sentence=on_sentence
        )


async def _through(
    first: Hop,
    second: Hop,
    texts: Sequence[str],
    options: TranslationOptions,
    timeout: float,
    on_sentence: OnSentence | None,
) -> list[Translation]:
    """Translate through a third language, and report each sentence when both models are done with it."""
    if loaded := second.model.loaded:  # later, the second half must not be refused
        loaded.translator.check_deadline(second.direction, texts, timeout)
    end, reported = time.monotonic() + timeout, set[tuple[int, int]]()
    options = replace(options, align=False)
    first_options = replace(options, alternatives=0, target_prefix="")
    language = standard(first.direction.target)

    def report_once(sentence: SentenceResult) -> None:
        reported.add((sentence.text, sentence.segment))
        if on_sentence is not None:
            on_sentence(sentence)

    async with _SecondHalf(second, options, end, language, report_once) as second_half:
        into_pivot = await second_half.beside(
            _direct(first, texts, first_options, timeout, second_half.look_ahead)
        )
        if all(translation.error for translation in into_pivot):
            return into_pivot  # no second model needs to be loaded
        await second_half.looked_ahead()
        translations = await second_half.translations(texts, into_pivot)
    started = {text for text, _ in reported}
    for text, (translation, first_half) in enumerate(zip(translations, into_pivot, strict=True)):
        # skip a text that the second model splits differently: its sentences have been reported already
        if text not in started or len(translation.sentences) == len(first_half.sentences):
            for number, sentence in enumerate(translation.sentences):
                if (text, number) not in reported:
                    report_once(SentenceResult(text, number, sentence))
    return translations


class _SecondHalf:
    """The second model of a route, which is loaded while the first one translates.

    The first model is released as soon as it is done. So no request holds a model that others wait for
    while it waits for another model, which could deadlock.
    """

    def __init__(
        self,
        hop: Hop,
        options: TranslationOptions,
        end: float,
        language: str,
        on_sentence: OnSentence,
    ) -> None:
        """Prepare one request, which fails at `end` by `time.monotonic`; `language` is the pivot."""
        self._hop, self._options, self._end, self._language = hop, options, end, language
        self._on_sentence = on_sentence
        self._stack = AsyncExitStack()
        self._first: asyncio.Future[list[Translation]] | None = None
        self._coming: asyncio.Future[ServedModel] | None = None
        self._ahead: Lookahead | None = None
        self._waiting: list[SentenceResult] = []  # for `_look_ahead`, which has been started
        self._searches: list[asyncio.Future[None]] = []
        self._groups = asyncio.Semaphore(GROUPS_AHEAD)

    async def beside(self, first: Coroutine[Any, Any, list[Translation]]) -> list[Translation]:
        """Return the result of the first half, which is cancelled if the second model cannot be loaded.

        Raises:
            AttendantError: one of the models cannot be loaded, or the first half failed.
        """
        self._first = asyncio.ensure_future(first)
        await asyncio.wait([self._first])
        if self._first.cancelled():
            await self._model()
        return self._first.result()

    def look_ahead(self, first: SentenceResult) -> None:
        """Start to translate a sentence that the first half has finished."""
        self._waiting.append(first)
        if len(self._waiting) == 1:
            self._searches.append(asyncio.ensure_future(self._look_ahead()))

    async def looked_ahead(self) -> None:
        """Wait for all sentences that were started by `look_ahead`.

        Raises:
            AttendantError: the second model cannot be loaded.
        """
        await asyncio.gather(*self._searches)

    async def translations(
        self, texts: Sequence[str], into_pivot: Sequence[Translation]
    ) -> list[Translation]:
        """Translate the results of the first half, reusing the sentences already translated.

        Args:
            texts: the request's.
            into_pivot: their translations into the pivot language.

        Returns:
            the translation of each text, with the sentences of both halves.

        Raises:
            AttendantError: the translation failed.
        """
        model = await self._model()
        searcher = self._ahead.searcher if self._ahead else None
        deadline, found = self._deadline(model), [one.text for one in into_pivot if not one.error]
        second = iter(
            await model.translator.translate(
                found, self._hop.direction, self._options, deadline, searcher, is_further=True
            )
        )
        halves = [(first, first if first.error else next(second)) for first in into_pivot]

        def join(check: Check) -> list[Translation]:
            translations = []
            for text, both in zip(texts, halves, strict=True):
                check()
                translations.append(pivoted(text, *both, self._language))
            return translations

        return await model.translator.run(effort_of(texts), deadline, join)

    def _model(self) -> "asyncio.Future[ServedModel]":
        """Return the future of the second model, requesting it at the first call."""
        if self._coming is None:
            lease = self._hop.model.lease(self._end - time.monotonic())
            self._coming = asyncio.ensure_future(self._stack.enter_async_context(lease))
            self._coming.add_done_callback(self._give_up_if_failed)
        return self._coming

    def _give_up_if_failed(self, coming: "asyncio.Future[ServedModel]") -> None:
        if self._first is not None and (coming.cancelled() or coming.exception() is not None):
            self._first.cancel()

    async def _look_ahead(self) -> None:
        """Translate all sentences that have come until the second model has time for them."""
        model = await asyncio.shield(self._model())
        async with self._groups:
            sentences, self._waiting = self._waiting, []
            if self._ahead is None:
                self._ahead = Lookahead(
                    model.translator, self._hop.direction, self._options, self._deadline(model)
                )
            await self._ahead.translate(sentences, self._report)

    def _report(self, first: SentenceResult, pair: MatchedSentences) -> None:
        self._on_sentence(replace(first, translated=pair.sentence(self._language)))

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
        """Cancel all work in progress, and release the model."""
        tasks = [task for task in (self._first, self._coming, *self._searches) if task is not None]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:  # even if this task is cancelled, too
            await self._stack.aclose()

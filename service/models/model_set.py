"""The models that are served together: which of them translates a text, and into which language."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from service.errors import (
    DeadlineExceededError,
    InvalidRequestError,
    MissingParameterError,
    TextTooLongError,
)
from service.errors import UnsupportedLanguageError as Unsupported
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from service.models.routes import Routes, translate_along
from service.text.detector import Detection, Detector
from service.text.languages import lookup, lookup_source
from service.text.surrogates import unpaired_surrogate
from service.translation.streaming import Tell, streamed, together
from service.translation.types import Event, SentenceResult, Translation, TranslationOptions

AUTO = "auto"
POLL_SECONDS = 0.01
DETECTED_AT_ONCE = 16
"""Texts whose language is detected before the event loop may do something else: about 1 to 10 ms."""


@dataclass(frozen=True, slots=True)
class _Route:
    """The way of one text; no codes where it is in the wanted language already."""

    codes: tuple[str, str] | None
    """Of source and target."""
    detected: Detection | None


class _Active:
    """Requests that are under way: each is inside of this."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


class ModelSet:
    """Some models, never changed: who reloads makes another set and lets this one finish.

    Its languages have codes of BCP 47, whatever the models call them.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        max_characters: int,
        pooled: Sequence[PooledModel] = (),
        pivot: str = "",
    ) -> None:
        """Where two models have the same direction, the first one serves it; a pool's come last.

        `max_characters` is the limit of all texts of a request; `pivot` the language through which texts go
        where no model has their direction, "" for none.
        """
        self.own, self.pooled, self.max_characters = models, pooled, max_characters
        self.active = _Active()
        """Those that are being served by all models: `drain` waits for them."""
        self.routes = Routes(self.described, pivot)
        self.languages = self.routes.languages
        """By source, its targets, all in their order."""
        self.sources = list(self.languages)
        self.targets = sorted({target for targets in self.languages.values() for target in targets})
        self.detector = Detector(self.sources)
        self._parts: dict[str, ModelSet] = {}

    @property
    def described(self) -> list[ServedModel | PooledModel]:
        """All models, whether they are loaded or not."""
        return [*self.own, *self.pooled]

    @property
    def models(self) -> list[ServedModel]:
        """Those that are loaded now."""
        pooled = [one.loaded for one in self.pooled]  # looked at once: a pool's thread unloads them
        return [*self.own, *(one for one in pooled if one is not None)]

    def named(self, name: str) -> "ModelSet | None":
        """The model of that name alone, the first of several; None where there is none."""
        if [one.bundle.manifest.name for one in self.described] == [name]:
            return self
        if name not in self._parts:
            own = [one for one in self.own if one.bundle.manifest.name == name][:1]
            pooled = [one for one in self.pooled if one.bundle.manifest.name == name][:1]
            if not own and not pooled:
                return None
            self._parts[name] = ModelSet(
                own, self.max_characters, () if own else pooled, self.routes.pivot
            )
        return self._parts[name]

    @property
    def is_alive(self) -> bool:
        """Whether every engine works that is loaded."""
        return not self._any_loaded([one for one in self.models if not one.engine.is_alive])

    def check(self) -> bool:
        """Whether every engine works; one that hangs gives up. To be called about once a second."""
        return not self._any_loaded([one for one in self.models if not one.engine.check()])

    def _any_loaded(self, stopped: Sequence[ServedModel]) -> bool:
        """Whether one of these still is: what a pool has unloaded meanwhile has been closed."""
        return bool(stopped) and any(one is loaded for one in stopped for loaded in self.models)

    @property
    def failure(self) -> str | None:
        """Why an engine has given up, for the operator; None while none has."""
        for model in self.models:
            if model.engine.failure is not None:
                return f"{model.bundle.manifest.name}: {model.engine.failure}"
        return None

    @property
    def num_waiting(self) -> int:
        """Sentences that wait, in all engines."""
        return sum(model.engine.num_waiting for model in self.models)

    @property
    def num_running(self) -> int:
        """Sentences in a batch, in all engines."""
        return sum(model.engine.num_running for model in self.models)

    @property
    def num_active(self) -> int:
        """Requests that are being served, by all models or by one that they name."""
        return self.active.count + sum(part.num_active for part in self._parts.values())

    def drain(self, timeout: float) -> bool:
        """Wait until no request is being served, then stop the engines' intake; whether that was in time.

        Nothing is refused meanwhile: a request may need its engine more than once, and nobody gives new ones
        to a set that is no longer the current one.
        """
        end = time.monotonic() + timeout
        while self.num_active and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        left = [model.engine.drain(max(0.0, end - time.monotonic())) for model in self.own]
        return all(left) and not self.num_active

    def close(self) -> bool:
        """Stop every model that is no pool's; whether all their threads ended in time."""
        closed = [model.close() for model in self.own]
        return all(closed)

    async def translate(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
        tell: Tell | None = None,
    ) -> list[Translation]:
        """Translate every text; texts of several languages may need several models.

        Args:
            texts: any texts; their layout comes back as it was.
            source: language code, or "auto" to detect each text's; None where there is one only, else "auto".
            target: language code; None where the source leaves no choice.
            options: of the search.
            timeout: seconds until it is given up.
            tell: is told of each sentence as soon as it is done.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        self._check(texts)
        with self.active:
            routes = await self._routes(texts, source, target)
            by_codes: dict[tuple[str, str], list[int]] = {}
            results: dict[int, Translation] = {}
            for at, route in enumerate(routes):
                if route.codes is None:
                    results[at] = Translation(texts[at], (), ())
                else:
                    by_codes.setdefault(route.codes, []).append(at)
            parts = [
                self._in_one_direction(codes, texts, places, options, timeout, tell)
                for codes, places in by_codes.items()
            ]
            for part in await together(parts):
                results |= part
        return [
            replace(results[at], detected=route.detected) if route.detected else results[at]
            for at, route in enumerate(routes)
        ]

    def stream(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
    ) -> AsyncGenerator[Event, None]:
        """What `translate` tells, and at last what it returns; given up where the rest is not wanted."""
        return streamed(partial(self.translate, texts, source, target, options, timeout))

    def _check(self, texts: Sequence[str]) -> None:
        """Refuse texts that are too long, or none that any model could read.

        Raises:
            InvalidRequestError: they are.
        """
        characters = sum(max(1, len(text)) for text in texts)  # an empty one is work, too
        if characters > self.max_characters:
            raise TextTooLongError(
                f"Invalid request: request ({characters}) exceeds text limit ({self.max_characters})"
            )
        for at, text in enumerate(texts):
            if (place := unpaired_surrogate(text)) is not None:
                raise InvalidRequestError(
                    f"Invalid request: text {at} has an unpaired surrogate at character {place}"
                )

    async def _in_one_direction(
        self,
        codes: tuple[str, str],
        texts: Sequence[str],
        places: Sequence[int],
        options: TranslationOptions,
        timeout: float,
        tell: Tell | None,
    ) -> dict[int, Translation]:
        """The translations of those texts that have one direction, by place."""

        def tell_of_all(sentence: SentenceResult) -> None:
            assert tell is not None
            tell(replace(sentence, text=places[sentence.text]))

        hops, mine = self.routes.find(*codes) or (), [texts[at] for at in places]
        told = tell_of_all if tell is not None else None
        try:
            done = await translate_along(hops, mine, options, timeout, told)
        except DeadlineExceededError as error:  # which knows what was left when its part began
            raise DeadlineExceededError(
                f"not finished within the deadline of {timeout:g} s"
            ) from error
        return dict(zip(places, done, strict=True))

    async def _routes(
        self, texts: Sequence[str], source: str | None, target: str | None
    ) -> list[_Route]:
        """The way of every text; between those whose language it detects, others get their turn.

        Raises:
            UnsupportedLanguageError, MissingParameterError: there is none, or more than one.
        """
        source = _known(source, [*self.sources, AUTO], lookup_source)
        target = _known(target, self.targets, lookup)
        if source is None:
            source = self.sources[0] if len(self.sources) == 1 else AUTO
        if target is None:
            candidates = self.targets if source == AUTO else self.languages[source]
            if len(candidates) > 1:
                raise MissingParameterError("Invalid request: missing target parameter")
            target = candidates[0]
        if source == target:
            return [_Route(None, None)] * len(texts)
        if source != AUTO:
            if self.routes.find(source, target) is None:
                raise Unsupported(f"{source} to {target} is not supported")
            return [_Route((source, target), None)] * len(texts)
        routes = []
        for number, text in enumerate(texts):
            if number % DETECTED_AT_ONCE == DETECTED_AT_ONCE - 1:
                await asyncio.sleep(0)
            routes.append(self._detected(text, target))
        return routes

    def _detected(self, text: str, target: str) -> _Route:
        """The way of a text whose language is not said: the likeliest that leads to `target`, or is it."""
        for guess in self.detector.detect(text):
            if guess.language == target:
                return _Route(None, guess)
            if self.routes.find(guess.language, target):
                return _Route((guess.language, target), guess)
        raise Unsupported(f"{AUTO} to {target} is not supported")


def _known(
    code: str | None, codes: Sequence[str], find: Callable[[str, Sequence[str]], str | None]
) -> str | None:
    """The one of `codes` that is meant, if one is given.

    Raises:
        UnsupportedLanguageError: there is none.
    """
    found = None if code is None else find(code, codes)
    if code is not None and found is None:
        raise Unsupported(f"{code} is not supported")
    return found

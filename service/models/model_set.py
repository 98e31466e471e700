"""A set of models that are served together. Chooses the model for each text."""

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
from service.fair_queue import FairQueue
from service.models.language_routes import LanguageRoutes, translate_along
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from service.text.detector import Detection, Detector
from service.text.languages import lookup, lookup_source
from service.text.surrogates import unpaired_surrogate
from service.translation.effort import effort_of
from service.translation.options import TranslationOptions
from service.translation.streaming import OnSentence, streamed, together
from service.translation.types import Event, SentenceResult, Translation

AUTO = "auto"
POLL_SECONDS = 0.01
MOST_LISTED = 20
"""Number of languages up to which an error lists them all."""
DETECTED_AT_ONCE = 16
"""Number of texts whose language is detected in one turn of the event loop: about 1 to 10 ms."""


@dataclass(frozen=True, slots=True)
class _Route:
    """How one text is translated."""

    codes: tuple[str, str] | None
    """Source and target language; None if the text is in the target language already."""
    detected: Detection | None


class _Active:
    """Counts the requests that are inside its `with` blocks."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


class ModelSet:
    """An immutable set of models. A reload makes a new set, and lets this one finish its requests.

    Languages have BCP 47 codes, whatever codes the models use.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        max_characters: int,
        pooled: Sequence[PooledModel] = (),
        pivot: str = "",
    ) -> None:
        """If two models have the same direction, the first one serves it; `pooled` models come last.

        Args:
            models: loaded models.
            max_characters: limit for all texts of a request together.
            pooled: models that are loaded on demand.
            pivot: language through which texts are translated if no model has their direction; "" for none.
        """
        self.own, self.pooled, self.max_characters = models, pooled, max_characters
        self.active = _Active()
        """Requests in progress, except those to one model by name; see `num_active`."""
        self.language_routes = LanguageRoutes(self.described, pivot)
        self.languages = self.language_routes.languages
        """The sorted targets of each source, by sorted source."""
        self.sources = list(self.languages)
        self.targets = sorted({target for targets in self.languages.values() for target in targets})
        self.detector, self._detection = Detector(self.sources), FairQueue()
        self._parts: dict[str, ModelSet] = {}

    @property
    def described(self) -> list[ServedModel | PooledModel]:
        """All models, loaded or not."""
        return [*self.own, *self.pooled]

    @property
    def models(self) -> list[ServedModel]:
        """The models that are loaded now."""
        # each is read once, as the pool's thread may unload it
        pooled = [model.loaded for model in self.pooled]
        return [*self.own, *(model for model in pooled if model is not None)]

    def named(self, name: str) -> "ModelSet | None":
        """Return a set with only the first model of that name, or None if there is none."""
        if [model.bundle.manifest.name for model in self.described] == [name]:
            return self
        if name not in self._parts:
            own = [model for model in self.own if model.bundle.manifest.name == name][:1]
            pooled = [model for model in self.pooled if model.bundle.manifest.name == name][:1]
            if not own and not pooled:
                return None
            self._parts[name] = ModelSet(
                own, self.max_characters, () if own else pooled, self.language_routes.pivot
            )
        return self._parts[name]

    @property
    def is_alive(self) -> bool:
        """Whether all loaded engines work."""
        return not self._any_loaded([model for model in self.models if not model.engine.is_alive])

    def check(self) -> bool:
        """Check for engines that hang, which then stop; return whether all work.

        To be called about once a second.
        """
        return not self._any_loaded([model for model in self.models if not model.engine.check()])

    def _any_loaded(self, stopped: Sequence[ServedModel]) -> bool:
        """Check whether one is still loaded: the pool closes those that it unloads, which is no failure."""
        return bool(stopped) and any(model is loaded for model in stopped for loaded in self.models)

    @property
    def failure(self) -> str | None:
        """Why an engine has stopped by itself, for the operator; None if none has."""
        for model in self.models:
            if model.engine.failure is not None:
                return f"{model.bundle.manifest.name}: {model.engine.failure}"
        return None

    @property
    def num_waiting(self) -> int:
        """Waiting sentences in all engines."""
        return sum(model.engine.num_waiting for model in self.models)

    @property
    def num_running(self) -> int:
        """Sentences in the batches of all engines."""
        return sum(model.engine.num_running for model in self.models)

    @property
    def num_active(self) -> int:
        """Requests in progress, including those to one model by name."""
        return self.active.count + sum(part.num_active for part in self._parts.values())

    def drain(self, timeout: float) -> bool:
        """Wait until no request is in progress, then drain the engines; return whether that was in time.

        Meanwhile, the engines still accept work, because a request may use its engine more than once. New
        requests go to the current set, not to this one.
        """
        deadline = time.monotonic() + timeout
        while self.num_active and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        drained = [model.engine.drain(max(0.0, deadline - time.monotonic())) for model in self.own]
        return all(drained) and not self.num_active

    def close(self) -> bool:
        """Close all models that are not pooled; return whether their threads ended in time."""
        closed = [model.close() for model in self.own]
        return all(closed)

    async def translate(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
        on_sentence: OnSentence | None = None,
    ) -> list[Translation]:
        """Translate every text; texts of several languages may need several models.

        Args:
            texts: any texts; their layout is preserved.
            source: language code, or "auto" to detect it for each text; None is the only source or "auto".
            target: language code; may be None if the source has only one target.
            options: of the search.
            timeout: seconds until the request fails.
            on_sentence: called with each sentence as soon as it is translated.

        Raises:
            InvalidRequestError: the request exceeds a limit, or a language is unknown.
            RefusedError, AbandonedError, EngineError: see `service.errors`.
        """
        self._check(texts, options.target_prefix)
        with self.active:
            routes = await self._routes(texts, source, target, options)
            indices_by_codes: dict[tuple[str, str], list[int]] = {}
            results: dict[int, Translation] = {}
            for index, route in enumerate(routes):
                if route.codes is None:
                    results[index] = Translation(texts[index], (), ())
                else:
                    indices_by_codes.setdefault(route.codes, []).append(index)
            parts = [
                self._in_one_direction(codes, texts, indices, options, timeout, on_sentence)
                for codes, indices in indices_by_codes.items()
            ]
            for translations in await together(parts):
                results |= translations
        return [
            replace(results[index], detected=route.detected) if route.detected else results[index]
            for index, route in enumerate(routes)
        ]

    def stream(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
    ) -> AsyncGenerator[Event, None]:
        """Yield each sentence when it is translated, and finally what `translate` returns.

        Closing the generator cancels the work.
        """
        return streamed(partial(self.translate, texts, source, target, options, timeout))

    def _check(self, texts: Sequence[str], target_prefix: str) -> None:
        """Check the length and the characters of the texts.

        Raises:
            InvalidRequestError: they are too long, or have an unpaired surrogate.
        """
        characters = sum(max(1, len(text)) for text in texts)  # an empty text is work, too
        characters += len(texts) * len(target_prefix)  # which is decoded again for each text
        if characters > self.max_characters:
            counted = ", target_prefix counted for each text" if target_prefix else ""
            raise TextTooLongError(
                f"Invalid request: request ({characters}) exceeds text limit ({self.max_characters})"
                f"{counted}"
            )
        for index, text in enumerate(texts):
            if (position := unpaired_surrogate(text)) is not None:
                raise InvalidRequestError(
                    f"Invalid request: text {index} has an unpaired surrogate at character {position}"
                )

    async def _in_one_direction(
        self,
        codes: tuple[str, str],
        texts: Sequence[str],
        indices: Sequence[int],
        options: TranslationOptions,
        timeout: float,
        on_sentence: OnSentence | None,
    ) -> dict[int, Translation]:
        """Translate the texts at `indices`, which all have the same direction; return them by index."""

        def report(sentence: SentenceResult) -> None:
            assert on_sentence is not None
            on_sentence(replace(sentence, text=indices[sentence.text]))

        hops = self.language_routes.find(*codes) or ()
        own_texts = [texts[index] for index in indices]
        report_all = report if on_sentence is not None else None
        try:
            translations = await translate_along(hops, own_texts, options, timeout, report_all)
        except DeadlineExceededError as error:
            # its message names the time left when its part began
            raise DeadlineExceededError(
                f"not finished within the deadline of {timeout:g} s"
            ) from error
        return dict(zip(indices, translations, strict=True))

    async def _routes(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
    ) -> list[_Route]:
        """Return the route of every text; detecting many languages leaves time for other tasks.

        Raises:
            UnsupportedLanguageError: no model translates between the languages.
            MissingParameterError: `target` is None, and there are several targets.
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
            if self.language_routes.find(source, target) is None:
                raise _unsupported(f"{source} to {target}", self.languages[source])
            return [_Route((source, target), None)] * len(texts)
        routes = []
        for first in range(0, len(texts), DETECTED_AT_ONCE):
            some = texts[first : first + DETECTED_AT_ONCE]
            async with self._detection.turn(effort_of(some)):
                routes += [self._detected(text, target, options) for text in some]
                if first + DETECTED_AT_ONCE < len(texts):
                    await asyncio.sleep(0)  # so that one request has its turn in a turn of the loop
        return routes

    def _detected(self, text: str, target: str, options: TranslationOptions) -> _Route:
        """Return the route from the likeliest language that is `target` or is translated into it.

        Raises:
            UnsupportedLanguageError: no language that the text may be in is.
        """
        for guess in self.detector.detect(text, options.format, options.ignored_tags):
            if guess.language == target:
                return _Route(None, guess)
            if self.language_routes.find(guess.language, target):
                return _Route((guess.language, target), guess)
        raise Unsupported(f"{AUTO} to {target} is not supported")


def _known(
    code: str | None, codes: Sequence[str], find: Callable[[str, Sequence[str]], str | None]
) -> str | None:
    """Return the member of `codes` that `code` stands for, or None if `code` is None.

    Raises:
        UnsupportedLanguageError: no member matches.
    """
    member = None if code is None else find(code, codes)
    if code is not None and member is None:
        raise _unsupported(code, codes)
    return member


def _unsupported(languages: str, supported: Sequence[str]) -> Unsupported:
    """Return the error for a language or a direction, which lists the supported codes if there are few."""
    listed = supported if len(supported) <= MOST_LISTED else ()
    return Unsupported(f"{languages} is not supported", listed)

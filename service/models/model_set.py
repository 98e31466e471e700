"""A set of models that are served together. Chooses the model for each text."""

import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from service.errors import (
    DeadlineExceededError,
    InvalidRequestError,
    TextTooLongError,
)
from service.models.language_routes import LanguageRoutes, translate_along
from service.models.loading import ServedModel
from service.models.pooled_model import PooledModel
from service.models.text_routes import TextRoutes
from service.text.detector import Detection
from service.text.surrogates import unpaired_surrogate
from service.translation.options import TranslationOptions
from service.translation.streaming import OnSentence, streamed, together
from service.translation.types import Event, SentenceResult, Translation

POLL_SECONDS = 0.01


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
        self.sources, self.targets = self.language_routes.sources, self.language_routes.targets
        self._text_routes = TextRoutes(self.language_routes)
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
            TextTooLongError: the only text has a sentence that is too long, or too deeply nested tags. One of
                several texts is returned untranslated, with the error.
            InvalidRequestError: the request exceeds a limit, or a language is unknown.
            RefusedError, AbandonedError, EngineError: see `service.errors`.
        """
        self._check(texts, options.target_prefix)
        deadline = time.monotonic() + timeout
        with self.active, _whole_limit_in_errors(timeout):
            routes = await self._text_routes.find(texts, source, target, options, timeout)
            indices_by_codes: dict[tuple[str, str], list[int]] = {}
            results: dict[int, Translation] = {}
            for index, route in enumerate(routes):
                if route.codes is None:
                    results[index] = Translation(texts[index], (), ())
                else:
                    indices_by_codes.setdefault(route.codes, []).append(index)
            parts = [
                self._in_one_direction(codes, texts, indices, options, deadline, on_sentence)
                for codes, indices in indices_by_codes.items()
            ]
            for translations in await together(parts):
                results |= translations
        if len(texts) == 1 and (error := results[0].error):
            raise error
        return [
            replace(results[index], detected=route.detected) if route.detected else results[index]
            for index, route in enumerate(routes)
        ]

    async def detect(self, text: str, timeout: float) -> list[Detection]:
        """Return the languages that a text may be in, likeliest first.

        Raises:
            InvalidRequestError: the text exceeds the limit, or has an unpaired surrogate.
            DeadlineExceededError: this took `timeout` seconds.
        """
        self._check([text], "")
        with _whole_limit_in_errors(timeout):
            [guesses] = await self._text_routes.detection.detect([text], timeout)
        return guesses

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
        deadline: float,
        on_sentence: OnSentence | None,
    ) -> dict[int, Translation]:
        """Translate the texts at `indices`, which all have the same direction; return them by index."""

        def report(sentence: SentenceResult) -> None:
            assert on_sentence is not None
            on_sentence(replace(sentence, text=indices[sentence.text]))

        hops = self.language_routes.find(*codes) or ()
        own_texts = [texts[index] for index in indices]
        report_all = report if on_sentence is not None else None
        seconds_left = max(0.0, deadline - time.monotonic())
        translations = await translate_along(hops, own_texts, options, seconds_left, report_all)
        return dict(zip(indices, translations, strict=True))


@contextmanager
def _whole_limit_in_errors(timeout: float) -> Iterator[None]:
    """Name the request's whole time limit in errors: a part only knows what was left when it began."""
    try:
        yield
    except DeadlineExceededError as error:
        raise DeadlineExceededError(f"not finished within the deadline of {timeout:g} s") from error

"""Chooses the language pair of each text, from the client's codes or by detection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.errors import MissingParameterError
from service.errors import UnsupportedLanguageError as Unsupported
from service.models.language_detection import LanguageDetection
from service.models.language_routes import LanguageRoutes
from service.text.detector import Detection
from service.text.languages import lookup, lookup_source
from service.translation.options import TranslationOptions

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class TextRoute:
    """How one text is translated."""

    codes: tuple[str, str] | None
    """Source and target language; None if the text is in the target language already."""
    detected: Detection | None


class TextRoutes:
    """The routes of texts between the languages of some models."""

    def __init__(self, routes: LanguageRoutes) -> None:
        """Choose among `routes`."""
        self._routes, self.detection = routes, LanguageDetection(routes.sources)

    async def find(
        self,
        texts: Sequence[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
    ) -> list[TextRoute]:
        """Return the route of every text.

        Raises:
            DeadlineExceededError: their languages were not detected within `timeout` seconds.
            UnsupportedLanguageError: no model translates between the languages.
            MissingParameterError: `target` is None, and there are several targets.
        """
        routes = self._routes
        source = _known(source, [*routes.sources, AUTO], lookup_source)
        target = _known(target, routes.targets, lookup)
        if source is None:
            source = routes.sources[0] if len(routes.sources) == 1 else AUTO
        if target is None:
            candidates = routes.targets if source == AUTO else routes.languages[source]
            if len(candidates) > 1:
                raise MissingParameterError("Invalid request: missing target parameter")
            target = candidates[0]
        if source == target:
            return [TextRoute(None, None)] * len(texts)
        if source != AUTO:
            if routes.find(source, target) is None:
                raise _unsupported(f"{source} to {target}", routes.languages[source])
            return [TextRoute((source, target), None)] * len(texts)
        detected = await self.detection.detect(texts, timeout, options.format, options.ignored_tags)
        return [self._likeliest(guesses, target) for guesses in detected]

    def _likeliest(self, guesses: Sequence[Detection], target: str) -> TextRoute:
        """Return the route from the likeliest language that is `target` or is translated into it.

        Raises:
            UnsupportedLanguageError: no language that the text may be in is.
        """
        for guess in guesses:
            if guess.language == target:
                return TextRoute(None, guess)
            if self._routes.find(guess.language, target):
                return TextRoute((guess.language, target), guess)
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
    """Return the error for a language or a direction."""
    return Unsupported(f"{languages} is not supported", supported)

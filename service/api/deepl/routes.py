"""DeepL's dialect, so that its official clients work unmodified: `deepl.DeepLClient(KEY, server_url=...)`.

Accepted without effect: `context`, `model_type` (there is only one model), `preserve_formatting`,
`show_billed_characters` (they are always shown), and `formality` other than `more` and `less`. Options that
would change a translation but are not supported are refused: glossaries, styles, instructions, and options
for the tags that split a text (`splitting_tags`, `non_splitting_tags`, `outline_detection` off).
"""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.access import Gate, caller_of
from service.api.deepl.schemas import (
    DeepLError,
    DeepLTranslateResponse,
    GlossaryPairs,
    TranslatedText,
    TranslateRequest,
    Usage,
    UsageRequest,
)
from service.api.dependencies import (
    PlainRoute,
    ServicesDependency,
    all_translated,
    seconds_left,
    services,
    unless_client_leaves,
)
from service.api.errors import documented, shortened
from service.api.fields import splitting_of
from service.api.inputs import JSON, fields_of, openapi_body, openapi_query, parse
from service.errors import (
    InvalidKeyError,
    InvalidRequestError,
    MissingKeyError,
    MissingParameterError,
    UnsupportedLanguageError,
)
from service.models.text_routes import AUTO
from service.text import languages
from service.translation.options import TranslationOptions
from service.translation.types import Translation

router = APIRouter(prefix="/v2", tags=["DeepL's dialect"])
translating = APIRouter(prefix="/v2", tags=["DeepL's dialect"], route_class=PlainRoute)
NO_LIMIT = 10**12
"""The limit of characters in answers, as clients require one and there is none."""
_UNSUPPORTED = (
    *("glossary_id", "glossary_ids", "style_id", "translation_memory_id"),
    "custom_instructions",
    *("splitting_tags", "non_splitting_tags"),
)
ERRORS = documented(DeepLError, 400, 403, 408, 413, 429, 500, 503, 504)


async def entered_fields(request: Request, gate: Gate) -> dict[str, Any]:
    """Return the fields of a request, once access is checked; DeepL's clients expect 403, never 401."""

    def enter(request: Request, key: object) -> None:
        try:
            gate.enter(request, key)
        except MissingKeyError as error:
            raise InvalidKeyError(str(error)) from None

    return await fields_of(request, enter, text="text")


@translating.get(
    "/translate",
    openapi_extra=openapi_query(TranslateRequest, "text"),
    responses=ERRORS,
    response_model=DeepLTranslateResponse,
)
@translating.post(
    "/translate",
    openapi_extra=openapi_body(TranslateRequest),
    responses=ERRORS,
    response_model=DeepLTranslateResponse,
)
async def translate(request: Request) -> Response:
    """Translate texts."""
    service = services(request)
    body = _translate_request(await entered_fields(request, service.gate))
    models = service.models
    timeout = seconds_left(request, service.settings.request_timeout_seconds)
    source = AUTO
    if body.source_lang:
        source = _supported(
            "source_lang",
            languages.lookup_source(body.source_lang, models.sources),
            models.sources,
        )
    target = _supported(
        "target_lang", languages.lookup(body.target_lang, models.targets), models.targets
    )
    options = _options(body)
    work = models.translate(body.text, source, target, options, timeout)
    translations = all_translated(await unless_client_leaves(request, work))
    characters = sum(map(len, body.text))
    service.metrics.deepl_characters.inc(characters)
    service.deepl_usage[caller_of(request.scope)] += characters
    answer = DeepLTranslateResponse(
        translations=[
            _translated(text, source, translation, body.model_type)
            for text, translation in zip(body.text, translations, strict=True)
        ]
    )
    return Response(answer.model_dump_json(exclude_none=True), media_type=JSON)


def _translate_request(fields: dict[str, Any]) -> TranslateRequest:
    for name in ("text", "target_lang"):
        if not fields.get(name):
            raise MissingParameterError(f"Bad request. Reason: Value for '{name}' missing.")
    for name in _UNSUPPORTED:
        if fields.get(name):
            raise InvalidRequestError(f"Value for '{name}' not supported.")
    return parse(TranslateRequest, fields)


@router.get("/usage", openapi_extra=openapi_query(UsageRequest), responses=ERRORS)
@router.post("/usage", openapi_extra=openapi_body(UsageRequest), responses=ERRORS)
async def usage(request: Request, service: ServicesDependency) -> Usage:
    """Return the number of characters translated in DeepL's dialect with this key since the start.

    There is no limit. All who send no key share one number.
    """
    parse(UsageRequest, await entered_fields(request, service.gate))
    characters = service.deepl_usage[caller_of(request.scope)]
    return Usage(character_count=characters, character_limit=NO_LIMIT)


@router.get("/glossary-language-pairs", openapi_extra=openapi_query(UsageRequest), responses=ERRORS)
async def glossary_language_pairs(request: Request, service: ServicesDependency) -> GlossaryPairs:
    """Return an empty list: glossaries are not supported."""
    parse(UsageRequest, await entered_fields(request, service.gate))
    return GlossaryPairs(supported_languages=[])


def _supported(name: str, code: str | None, supported: Sequence[str]) -> str:
    """Return the code that was found for the language in a field.

    Raises:
        UnsupportedLanguageError: none was found.
    """
    if code is None:
        raise UnsupportedLanguageError(
            f"Value for '{name}' not supported", [known.upper() for known in supported]
        )
    return code


def _options(body: TranslateRequest) -> TranslationOptions:
    if body.outline_detection is False:
        raise InvalidRequestError("Value for 'outline_detection' not supported.")
    if body.formality in ("more", "less"):
        raise InvalidRequestError(
            f"Target language '{shortened(body.target_lang)}' doesn't support formality."
        )
    form = body.tag_handling or "text"
    return TranslationOptions(
        format=form,
        splitting=splitting_of(body.split_sentences, form),
        ignored_tags=tuple(body.ignore_tags),
    )


def _translated(
    text: str, source: str, translation: Translation, model_type: str | None
) -> TranslatedText:
    found = translation.detected.language if translation.detected else source
    return TranslatedText(
        detected_source_language=_as_source(found),
        text=translation.text,
        billed_characters=len(text),
        model_type_used=model_type and model_type.removeprefix("prefer_"),
    )


def _as_source(code: str) -> str:
    """Return DeepL's code of a source language, which has no variants: `zh-Hant` -> `ZH`."""
    return languages.parse(code).language.upper()

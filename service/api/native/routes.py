"""Routes of the native dialect, LibreTranslate's with extensions."""

import asyncio
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import TypeAdapter

from service.api.dependencies import (
    ModelsDependency,
    PlainRoute,
    ServicesDependency,
    all_translated,
    seconds_left,
    services,
    unless_client_leaves,
)
from service.api.errors import TRANSLATION_ERRORS, ErrorResponse, documented
from service.api.inputs import JSON, PLAIN, fields_of, openapi_body, parse
from service.api.media import field_of, preferred
from service.api.native.schemas import (
    DetectedLanguage,
    DetectRequest,
    Finish,
    FrontendSettings,
    Language,
    LanguageSettings,
    SentenceDetails,
    SideSettings,
    TranslateRequest,
    TranslateResponse,
    Via,
)
from service.api.stream import EVENT_STREAM, streamed
from service.engine.types import FinishReason
from service.errors import AccessError
from service.models.model_set import ModelSet
from service.text import languages
from service.threads import Threads
from service.translation.types import PivotedSentence, TranslatedSentence, Translation
from service.watch import watched

router = APIRouter(tags=["translation"])
translating = APIRouter(tags=["translation"], route_class=PlainRoute)
MIN_CONFIDENCE = 10
"""Minimum percentage for `/detect` to list a language besides the best, as in LibreTranslate."""
SENTENCES_ON_LOOP = 1_000
"""Beyond this, answers are written on another thread, as that takes milliseconds."""
_OTHER_FORMS: dict[int | str, dict[str, Any]] = {
    200: {"content": {one: {"schema": {"type": "string"}} for one in (PLAIN, EVENT_STREAM)}}
}
"""What `/translate` returns instead of JSON if the client accepts it."""
UNREADY = documented(ErrorResponse, 503)
_LANGUAGES = TypeAdapter(list[Language])
_listed: WeakKeyDictionary[ModelSet, tuple[tuple[bool, ...], bytes]] = WeakKeyDictionary()
"""The last list of languages, and which models were loaded then.

A model of 200 languages has 40,000 directions, whose list blocks the event loop for 50 ms.
"""


@translating.post(
    "/translate",
    response_model=TranslateResponse,
    openapi_extra=openapi_body(TranslateRequest),
    responses=_OTHER_FORMS | TRANSLATION_ERRORS,
)
async def translate(request: Request) -> Response:
    """Translate a text, or a list of texts; with `Accept: text/event-stream`, sentence by sentence."""
    service = services(request)
    body = parse(TranslateRequest, await fields_of(request, service.gate.enter))
    models = service.models
    options = body.options(alternatives=body.alternatives, align=body.return_alignment)
    timeout = seconds_left(request, body.timeout(service.settings.request_timeout_seconds))
    arguments = (body.texts, body.source, body.target, options, timeout)
    accepted = preferred(field_of(request.scope, b"accept"), (JSON, PLAIN, EVENT_STREAM))
    if accepted == EVENT_STREAM:
        return await streamed(
            request, models.stream(*arguments), partial(_written, body, service.threads)
        )
    translations = await unless_client_leaves(request, models.translate(*arguments))
    if accepted == PLAIN:
        return PlainTextResponse(
            "\n".join(translation.text for translation in all_translated(translations))
        )
    return Response(await _written(body, service.threads, translations), media_type=JSON)


@router.post(
    "/detect",
    openapi_extra=openapi_body(DetectRequest),
    responses=TRANSLATION_ERRORS,
    response_model_exclude_none=True,
)
async def detect(
    request: Request, service: ServicesDependency, models: ModelsDependency
) -> list[DetectedLanguage]:
    """Detect which of the loaded languages a text is in: the best guess, then other likely ones."""
    body = parse(DetectRequest, await fields_of(request, service.gate.enter))
    timeout = seconds_left(request, service.settings.request_timeout_seconds)
    best, *others = await unless_client_leaves(request, models.detect(body.text, timeout))
    return [
        DetectedLanguage.model_validate(guess)
        for guess in (best, *(guess for guess in others if guess.confidence >= MIN_CONFIDENCE))
    ]


@router.get("/languages", response_model=list[Language], responses=UNREADY)
async def list_languages(models: ModelsDependency) -> Response:
    """List the source languages, each with its targets."""
    loaded = tuple(model.loaded is not None for model in models.described)
    known = _listed.get(models)
    if known is None or known[0] != loaded:
        known = _listed[models] = (
            loaded,
            _LANGUAGES.dump_json(_languages(models), exclude_none=True),
        )
    return Response(known[1], media_type=JSON)


def _languages(models: ModelSet) -> list[Language]:
    return [
        Language(
            code=code,
            name=languages.name(code),
            targets=targets,
            unloaded=models.language_routes.unloaded(code) or None,
            via=dict.fromkeys(models.language_routes.pivoted[code], models.language_routes.pivot)
            or None,
        )
        for code, targets in models.languages.items()
    ]


@router.get("/frontend/settings", responses=UNREADY)
async def frontend_settings(
    service: ServicesDependency, models: ModelsDependency
) -> FrontendSettings:
    """Return the settings for a web page that uses this service."""
    settings, source = service.settings, models.sources[0]
    target = models.languages[source][0]
    return FrontendSettings(
        charLimit=settings.max_text_characters,
        maxAlternatives=settings.max_beam_size - 1,
        frontendTimeout=500,
        apiKeys=settings.api_keys is not None,
        keyRequired=settings.key_required,
        suggestions=False,
        filesTranslation=False,
        supportedFilesFormat=[],
        language=LanguageSettings(
            source=SideSettings(code=source, name=languages.name(source)),
            target=SideSettings(code=target, name=languages.name(target)),
        ),
    )


@router.post("/suggest", include_in_schema=False)
async def suggest() -> None:
    """Refuse as LibreTranslate does if its operator has turned suggestions off."""
    raise AccessError("Suggestions are disabled on this server.")


@router.post("/translate_file", include_in_schema=False)
async def translate_file() -> None:
    """Refuse as LibreTranslate does if its operator has turned the translation of files off."""
    raise AccessError("The translation of files is disabled on this server.")


async def _written(
    body: TranslateRequest, threads: Threads, translations: list[Translation]
) -> str:
    """Return the answer as JSON; with alignments or many sentences, it is written in a thread."""

    def write() -> str:
        return _response(body, translations).model_dump_json(exclude_none=True)

    sentences = sum(len(translation.sentences) for translation in translations)
    if not body.return_alignment and sentences <= SENTENCES_ON_LOOP:
        return write()
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(threads, watched, "the writer of answers", write)


def _response(body: TranslateRequest, translations: list[Translation]) -> TranslateResponse:
    """Return the answer's fields: a single value if the request had a single text, otherwise lists."""
    texts = [translation.text for translation in translations]
    alternatives = [list(translation.alternatives) for translation in translations]
    detected = [
        DetectedLanguage.model_validate(translation.detected)
        for translation in translations
        if translation.detected is not None
    ]
    details = None
    has_problem = any(translation.first_problem for translation in translations)
    if body.return_scores or body.return_alignment or has_problem:
        details = [_details(translation, body.return_alignment) for translation in translations]
    single = isinstance(body.given, str)
    return TranslateResponse(
        translatedText=texts[0] if single else texts,
        detectedLanguage=(detected[0] if single else detected) if detected else None,
        alternatives=(alternatives[0] if single else alternatives) if body.alternatives else None,
        details=details,
    )


def _details(translation: Translation, with_alignment: bool) -> list[SentenceDetails]:
    if translation.problem:
        text = translation.text
        problem = translation.problem
        return [
            SentenceDetails(source=text, target=text, score=0, finish="copied", problem=problem)
        ]
    details = []
    for translated in translation.sentences:
        via = None
        if isinstance(translated, PivotedSentence):
            via = Via(language=translated.pivot, text=translated.pivot_text)
        detail = SentenceDetails(
            source=translated.source,
            target=translated.target,
            score=translated.score,
            finish=_finish(translated),
            problem=translated.problem or None,
            via=via,
        )
        if with_alignment and translated.alignment is not None:
            detail.sourceTokens, detail.targetTokens, weights = translated.alignment
            detail.alignment = weights.astype(float).round(3).tolist()
        details.append(detail)
    return details


def _finish(sentence: TranslatedSentence) -> Finish:
    """Return the value of `finish` for a sentence; see `SentenceDetails`."""
    if sentence.finish_reason is FinishReason.LENGTH:
        return "length"
    return sentence.recovery or "end"

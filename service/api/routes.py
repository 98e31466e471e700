"""The native interface: LibreTranslate's, extended."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from service.api.dependencies import ModelDependency, SettingsDependency, unless_client_leaves
from service.api.inputs import OPENAPI_BODY, PLAIN, translate_request
from service.api.schemas import (
    ErrorResponse,
    Language,
    SentenceDetails,
    TranslateRequest,
    TranslateResponse,
)
from service.text import languages
from service.translator import Translation, TranslationOptions

router = APIRouter(tags=["translation"])
_ERRORS = {
    400: "The request cannot be served as it is.",
    413: "The body is too large.",
    429: "As many sentences wait as may wait.",
    500: "A failure of the service.",
    503: "Starting, stopping, or the engine has given up.",
    504: "The deadline passed.",
}


@router.post(
    "/translate",
    response_model=TranslateResponse,
    response_model_exclude_none=True,
    openapi_extra=OPENAPI_BODY,
    responses={
        status: {"model": ErrorResponse, "description": text} for status, text in _ERRORS.items()
    },
)
async def translate(
    body: Annotated[TranslateRequest, Depends(translate_request)],
    request: Request,
    model: ModelDependency,
    settings: SettingsDependency,
) -> TranslateResponse | PlainTextResponse:
    """Translate a text, or a list of texts."""
    options = TranslationOptions(body.beam_size, body.length_penalty, body.alternatives)
    work = model.translator.translate(
        body.texts, body.source, body.target, options, settings.request_timeout_seconds
    )
    translations = await unless_client_leaves(request, work)
    if request.headers.get("accept") == PLAIN:
        return PlainTextResponse("\n".join(translation.text for translation in translations))
    return _response(body, translations)


@router.get("/languages")
async def list_languages(model: ModelDependency) -> list[Language]:
    """What can be translated into what."""
    targets: dict[str, list[str]] = {}
    for direction in model.bundle.manifest.directions:
        targets.setdefault(direction.source, []).append(direction.target)
    return [
        Language(code=code, name=languages.name(code), targets=sorted(targets[code]))
        for code in sorted(targets)
    ]


def _response(body: TranslateRequest, translations: list[Translation]) -> TranslateResponse:
    """A text for a text, a list for a list."""
    texts = [translation.text for translation in translations]
    alternatives = [list(translation.alternatives) for translation in translations]
    single = isinstance(body.given, str)
    return TranslateResponse(
        translatedText=texts[0] if single else texts,
        alternatives=(alternatives[0] if single else alternatives) if body.alternatives else None,
        details=[_details(translation) for translation in translations]
        if body.return_scores
        else None,
    )


def _details(translation: Translation) -> list[SentenceDetails]:
    return [
        SentenceDetails(
            source=sentence.source, target=sentence.targets[0], score=sentence.scores[0]
        )
        for sentence in translation.sentences
    ]

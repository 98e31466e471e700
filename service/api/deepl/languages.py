"""The languages, as DeepL's clients ask for them: those of one side (`/v2`), or all of them (`/v3`)."""

from fastapi import APIRouter, Request

from service.api.deepl.routes import ERRORS, entered_fields
from service.api.deepl.schemas import (
    DeepLLanguage,
    Feature,
    LanguagesRequest,
    ResourceLanguage,
    ResourceLanguagesRequest,
)
from service.api.dependencies import ModelsDependency, ServicesDependency
from service.api.inputs import openapi_body, openapi_query, parse
from service.errors import InvalidRequestError, MissingParameterError
from service.text import languages

router = APIRouter(tags=["DeepL's dialect"])
_VARIANTS = {
    "en": ("en-GB", "en-US"),
    "pt": ("pt-BR", "pt-PT"),
    "zh": ("zh", "zh-Hans"),
}
"""DeepL's codes of targets, by our language code; its clients refuse plain English and Portuguese."""
_NAMES = {
    "en-GB": "English (British)",
    "en-US": "English (American)",
    "pt-BR": "Portuguese (Brazilian)",
    "pt-PT": "Portuguese (European)",
    "zh": "Chinese (simplified)",
    "zh-Hans": "Chinese (simplified)",
    "zh-Hant": "Chinese (traditional)",
}
"""DeepL's names of targets."""


@router.get(
    "/v2/languages",
    openapi_extra=openapi_query(LanguagesRequest),
    responses=ERRORS,
    response_model_exclude_none=True,
)
@router.post(
    "/v2/languages",
    openapi_extra=openapi_body(LanguagesRequest),
    responses=ERRORS,
    response_model_exclude_none=True,
)
async def list_languages(
    request: Request, service: ServicesDependency, models: ModelsDependency
) -> list[DeepLLanguage]:
    """List the source languages, or with `type=target` the target languages."""
    parameters = parse(LanguagesRequest, await entered_fields(request, service.gate))
    if parameters.type not in ("source", "target"):
        raise InvalidRequestError("Value for 'type' not supported.")
    if parameters.type == "source":
        codes = sorted({languages.parse(code).language for code in models.sources})
        return [DeepLLanguage(language=code.upper(), name=languages.name(code)) for code in codes]
    names = {
        variant.upper(): _NAMES.get(variant) or languages.name(code)
        for code in models.targets
        for variant in _VARIANTS.get(code, (code,))
    }
    return [
        DeepLLanguage(language=code, name=name, supports_formality=False)
        for code, name in names.items()
    ]


@router.get(
    "/v3/languages", openapi_extra=openapi_query(ResourceLanguagesRequest), responses=ERRORS
)
async def list_resource_languages(
    request: Request, service: ServicesDependency, models: ModelsDependency
) -> list[ResourceLanguage]:
    """List all languages, with the sides and features of each; only `translate_text` has any."""
    parameters = parse(ResourceLanguagesRequest, await entered_fields(request, service.gate))
    if parameters.resource is None:
        raise MissingParameterError("Bad request. Reason: Value for 'resource' missing.")
    if parameters.resource != "translate_text":
        return []
    sources = {languages.parse(code).language for code in models.sources}
    targets = {variant for code in models.targets for variant in (code, *_VARIANTS.get(code, ()))}
    return [
        ResourceLanguage(
            lang=code,
            name=(_NAMES.get(code) if "-" in code else None) or languages.name(code),
            usable_as_source=code in sources,
            usable_as_target=code in targets,
            features={"tag_handling": Feature()}
            | ({"auto_detection": Feature()} if code in sources else {}),
        )
        for code in sorted(sources | targets)
    ]

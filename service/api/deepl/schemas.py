"""Requests and answers of DeepL's dialect."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from service.api.fields import Choice, Code, Key, SplitSentences, Text, TextList

Resource = Literal[
    "translate_text",
    "translate_document",
    "glossary",
    "voice",
    "write",
    "style_rules",
    "translation_memory",
]
MAX_TAG_NAMES = 100
TagNames = Annotated[list[Code], Field(fail_fast=True, max_length=MAX_TAG_NAMES)]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_names(value: object) -> object:
    """Return a list of names, from names separated by commas, a list of these, or null."""
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    names: list[object] = []
    for item in values:
        names += item.split(",", MAX_TAG_NAMES) if isinstance(item, str) else [item]
        if len(names) > MAX_TAG_NAMES:
            break  # to be refused
    return [name.strip() if isinstance(name, str) else name for name in names]


class TranslateRequest(BaseModel):
    """`POST /v2/translate`."""

    text: Annotated[TextList, BeforeValidator(_as_list), Field(min_length=1)]
    target_lang: Code
    source_lang: Code | None = None
    context: Annotated[Text | None, Field(description="Accepted, without effect.")] = None
    split_sentences: SplitSentences | None = None
    tag_handling: Literal["html", "xml"] | None = None
    ignore_tags: Annotated[TagNames, BeforeValidator(_as_names)] = []
    outline_detection: Annotated[
        bool | None, Field(description="Whether tags end sentences; only true is supported.")
    ] = None
    formality: Literal["default", "prefer_more", "prefer_less", "more", "less"] | None = None
    model_type: (
        Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"] | None
    ) = None
    auth_key: Key | None = None


class UsageRequest(BaseModel):
    """`GET /v2/usage`."""

    auth_key: Key | None = None


class LanguagesRequest(UsageRequest):
    """`GET /v2/languages`."""

    type: Annotated[Choice, Field(description="`source` or `target`.")] = "source"


class ResourceLanguagesRequest(UsageRequest):
    """`GET /v3/languages`."""

    resource: Annotated[
        Resource | None,
        Field(description="What the languages are for; only `translate_text` has any."),
    ] = None


class TranslatedText(BaseModel):
    """The translation of one text."""

    detected_source_language: str
    text: str
    billed_characters: int
    model_type_used: Annotated[
        str | None, Field(description="The requested `model_type`, if there was one.")
    ] = None


class DeepLTranslateResponse(BaseModel):
    """The translations, in the order of the texts."""

    translations: list[TranslatedText]


class DeepLLanguage(BaseModel):
    """A source or target language."""

    language: str
    name: str
    supports_formality: Annotated[bool | None, Field(description="For targets only.")] = None


class Feature(BaseModel):
    """A feature that a language has."""

    status: Literal["stable"] = "stable"


class ResourceLanguage(BaseModel):
    """A language, with its sides and features."""

    lang: str
    name: str
    usable_as_source: bool
    usable_as_target: bool
    status: Literal["stable"] = "stable"
    features: dict[str, Feature]


class Usage(BaseModel):
    """Characters translated since the start."""

    character_count: int
    character_limit: int


class GlossaryPairs(BaseModel):
    """Always empty: glossaries are not supported."""

    supported_languages: list[dict[str, str]]


class DeepLError(BaseModel):
    """The answer for every error of this dialect."""

    message: str
    detail: str

"""Requests and answers of the native dialect; the OpenAPI document is generated from them."""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from service.api.fields import Key, Text, Texts, few_texts
from service.api.numbers import INTEGER
from service.api.options import TranslationFields, within
from service.errors import InvalidRequestError, MissingParameterError
from service.translation.types import Recovery

Finish = Literal["end", "length", Recovery]


class TextFields(BaseModel):
    """A text or several, under either of two names."""

    text: Annotated[
        Texts | None,
        BeforeValidator(few_texts),
        Field(description="A text, or a list of texts."),
    ] = None
    q: Annotated[
        Texts | None,
        BeforeValidator(few_texts),
        Field(description="The same as `text`, under LibreTranslate's name."),
    ] = None

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.q is not None:
            raise InvalidRequestError(
                "Invalid request: text and q are two names for the same parameter; send only one"
            )
        if not self.given:
            raise MissingParameterError("Invalid request: missing text (or q)")
        return self

    @property
    def given(self) -> Texts | None:
        """The text or texts, from `text` or `q`."""
        return self.text if self.text is not None else self.q

    @property
    def texts(self) -> list[str]:
        """The text or texts, as a list."""
        texts = self.given or []
        return [texts] if isinstance(texts, str) else texts


class TranslateRequest(TranslationFields, TextFields):  # whose own fields come first
    """`POST /translate`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Guten Morgen! Wie geht es dir heute?", "source": "de", "target": "en"}
            ]
        }
    )

    alternatives: Annotated[
        int, within("alternatives", "Number of further translations to return."), INTEGER
    ] = 0
    return_scores: Annotated[
        bool, Field(description="Whether to return `details`: every sentence with its score.")
    ] = False
    return_alignment: Annotated[
        bool,
        Field(
            description="Whether to return in `details` the words of both sides and the attention between "
            "them."
        ),
    ] = False
    api_key: Annotated[
        Key | None, Field(description="The same as `Authorization: Bearer KEY`.")
    ] = None


class Via(BaseModel):
    """The third language that a sentence was translated through."""

    language: str
    text: Annotated[str, Field(description="The sentence in that language.")]


class SentenceDetails(BaseModel):
    """One sentence of a text."""

    source: str
    target: str
    score: Annotated[
        float,
        Field(description="Log-probability divided by the length penalty; 0 means certainty."),
    ]
    finish: Annotated[
        Finish,
        Field(
            description="How the translation ended. `end`: the search finished normally. `length`: it was "
            "cut at `max_decoding_length`. `repetition`: decoded again, because the output looped. "
            "`protected`: decoded again with numbers and placeholders protected, because some were lost. "
            "`pieces`: the pieces between numbers and placeholders were translated separately. `copied`: not "
            "translated; `target` is the source. `memory`: in the model's translation memory, not searched."
        ),
    ]
    problem: Annotated[
        str | None,
        Field(description="Why the text, or a part of the sentence, was not translated."),
    ] = None
    via: Annotated[
        Via | None,
        Field(
            description="The third language, if the sentence was translated through one. There is no "
            "alignment then."
        ),
    ] = None
    sourceTokens: Annotated[
        list[str] | None, Field(description="The words of the source, with `return_alignment`.")
    ] = None
    targetTokens: list[str] | None = None
    alignment: Annotated[
        list[list[float]] | None,
        Field(description="One row for each target word: its attention to each source word."),
    ] = None


class DetectedLanguage(BaseModel):
    """The likely language of a text."""

    model_config = ConfigDict(from_attributes=True)

    confidence: Annotated[int, Field(ge=0, le=100, description="In percent.")]
    language: str
    unsupported: Annotated[
        str | None,
        Field(description="The language that the text is rather in, and that no model has."),
    ] = None


class DetectRequest(BaseModel):
    """`POST /detect`."""

    q: Annotated[Text | None, Field(description="A text.")] = None
    api_key: Key | None = None

    @property
    def text(self) -> str:
        """The text.

        Raises:
            MissingParameterError: the text is absent or empty.
        """
        if not self.q:
            raise MissingParameterError("Invalid request: missing q parameter")
        return self.q


class TranslateResponse(BaseModel):
    """The translation of a text, or a list of translations in the order of the texts."""

    translatedText: Texts
    detectedLanguage: Annotated[
        DetectedLanguage | list[DetectedLanguage] | None,
        Field(description="Present if the language was detected."),
    ] = None
    alternatives: list[str] | list[list[str]] | None = None
    details: Annotated[
        list[list[SentenceDetails]] | None,
        Field(
            description="The sentences of each text. Present if requested, or if a text was not translated."
        ),
    ] = None


class Language(BaseModel):
    """A source language and what it can be translated to."""

    code: str
    name: str
    targets: list[str]
    unloaded: Annotated[
        list[str] | None,
        Field(description="Targets whose model will be loaded on demand."),
    ] = None
    via: Annotated[
        dict[str, str] | None,
        Field(description="Targets that are reached through a third language, and that language."),
    ] = None


class SideSettings(BaseModel):
    """One side of LibreTranslate's `language` settings."""

    code: str
    name: str


class LanguageSettings(BaseModel):
    """The languages that a web page selects at first."""

    source: SideSettings
    target: SideSettings


class FrontendSettings(BaseModel):
    """`GET /frontend/settings`, as in LibreTranslate."""

    charLimit: int
    maxAlternatives: Annotated[int, Field(description="Not in LibreTranslate.")]
    frontendTimeout: Annotated[int, Field(description="Milliseconds to wait after a keystroke.")]
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: LanguageSettings

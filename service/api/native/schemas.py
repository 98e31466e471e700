"""Bodies of requests and answers; also the source of the OpenAPI document."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from service.api.fields import Choice, Code, Key, Prefix, SplitSentences, Text, Texts, few_texts
from service.api.numbers import INTEGER, NUMBER
from service.errors import InvalidRequestError, MissingParameterError
from service.translation.types import Recovery

Finish = Literal["end", "length", Recovery]


class TranslateRequest(BaseModel):
    """`POST /translate`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Guten Morgen! Wie geht es dir heute?", "source": "de", "target": "en"}
            ]
        }
    )

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
    source: Annotated[
        Code | None,
        Field(
            description="Language code, or `auto` to detect the language of each text. By default the only "
            "source language, else `auto`. `de-AT` means `de`, unless a model has it."
        ),
    ] = None
    target: Annotated[
        Code | None, Field(description="Language code. By default the only target language.")
    ] = None
    format: Annotated[Choice, Field(description="`text` or `html`. The tags of HTML are kept.")] = (
        "text"
    )
    alternatives: Annotated[
        int,
        Field(ge=0, le=1_000, description="How many further translations to return."),
        INTEGER,
    ] = 0
    beam_size: Annotated[
        int | None,
        Field(ge=1, le=1_000, description="Number of beams; 1 is greedy search."),
        INTEGER,
    ] = None
    length_penalty: Annotated[
        float | None,
        Field(
            ge=-10,
            le=10,
            allow_inf_nan=False,
            description="Alpha of the length penalty; higher values favour longer translations.",
        ),
        NUMBER,
    ] = None
    max_decoding_length: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="Maximum length of a sentence's translation in tokens. By default the source's "
            "length plus 50.",
        ),
        INTEGER,
    ] = None
    no_repeat_ngram_size: Annotated[
        int,
        Field(
            ge=0,
            le=1_000,
            description="No sequence of n tokens may occur twice in a sentence; 0 allows repetition.",
        ),
        INTEGER,
    ] = 0
    rerank: Annotated[
        bool | None,
        Field(
            description="Whether the opposite direction, if the model has it, helps to choose the "
            "translation: better, but slower. By default what the operator has set."
        ),
    ] = None
    target_prefix: Annotated[
        Prefix, Field(description="How the translation of a text's first sentence begins.")
    ] = ""
    split_sentences: Annotated[
        SplitSentences | None,
        Field(
            description="As in DeepL. `0`: each text is one sentence. `1`, the default for text: line breaks "
            "also end sentences. `nonewlines`, the default for HTML: they do not, but blank lines in text do."
        ),
    ] = None
    return_scores: Annotated[
        bool, Field(description="Whether to add `details`: every sentence with its score.")
    ] = False
    return_alignment: Annotated[
        bool,
        Field(
            description="Whether to add the words of both sides and the attention between them to "
            "`details`."
        ),
    ] = False
    timeout_seconds: Annotated[
        float | None,
        Field(
            ge=0.1,
            le=86_400,
            allow_inf_nan=False,
            description="Deadline, after which the answer is 504; at most the operator's.",
        ),
        NUMBER,
    ] = None
    api_key: Annotated[
        Key | None, Field(description="The same as `Authorization: Bearer KEY`.")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """Fields that are null are absent, as in LibreTranslate; so is an empty format."""
        if not isinstance(given, dict):
            return given
        for name in ("source", "target"):
            if given.get(name) == "":
                raise MissingParameterError(f"Invalid request: missing {name} parameter")
        given = {name: value for name, value in given.items() if value is not None}
        if given.get("format") == "":
            del given["format"]
        return given

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.q is not None:
            raise InvalidRequestError(
                "Invalid request: text and q are two names for the same parameter; send only one"
            )
        if not self.given:
            raise MissingParameterError("Invalid request: missing q parameter")
        if self.format not in ("text", "html"):
            raise InvalidRequestError(f"{self.format} format is not supported")
        return self

    @property
    def given(self) -> Texts | None:
        """The text under either name."""
        return self.text if self.text is not None else self.q

    @property
    def texts(self) -> list[str]:
        """The text or texts, as a list."""
        given = self.given or []
        return [given] if isinstance(given, str) else given


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
            description="How the translation was found. `end`: the search finished normally. `length`: at "
            "`max_decoding_length`. `repetition`: decoded again, because the output looped. `protected`: "
            "decoded again with numbers and placeholders protected, because some were lost. `pieces`: "
            "translated in the pieces between them. `copied`: not translated; this is the source."
        ),
    ]
    problem: Annotated[
        str | None,
        Field(description="Why the text was not translated."),
    ] = None
    via: Annotated[
        Via | None,
        Field(
            description="The third language, if the sentence was translated through one. It then has no "
            "alignment."
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

    confidence: Annotated[int, Field(ge=0, le=100, description="In percent.")]
    language: str


class DetectRequest(BaseModel):
    """`POST /detect`."""

    q: Annotated[Text | None, Field(description="A text.")] = None
    api_key: Key | None = None

    @property
    def text(self) -> str:
        """The text.

        Raises:
            MissingParameterError: there is none.
        """
        if not self.q:
            raise MissingParameterError("Invalid request: missing q parameter")
        return self.q


class TranslateResponse(BaseModel):
    """The translation of a text, or a list of translations in the order of the texts."""

    translatedText: Texts
    detectedLanguage: Annotated[
        DetectedLanguage | list[DetectedLanguage] | None,
        Field(description="With `source` `auto`."),
    ] = None
    alternatives: list[str] | list[list[str]] | None = None
    details: Annotated[
        list[list[SentenceDetails]] | None,
        Field(
            description="For each text, its sentences; if requested, or if a text was not translated."
        ),
    ] = None


class ErrorResponse(BaseModel):
    """Every error, whatever its status."""

    error: Annotated[str, Field(description="For people; names the value and the limit.")]
    code: Annotated[str, Field(description="Stable; for programs.")]


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
        Field(
            description="Targets that are reached through a third language, each with that language."
        ),
    ] = None


class SideSettings(BaseModel):
    """One side of LibreTranslate's `language` settings."""

    code: str
    name: str


class LanguageSettings(BaseModel):
    """The languages that a page selects at first."""

    source: SideSettings
    target: SideSettings


class FrontendSettings(BaseModel):
    """`GET /frontend/settings`, LibreTranslate's."""

    charLimit: int
    frontendTimeout: Annotated[int, Field(description="Milliseconds to wait after a keystroke.")]
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: LanguageSettings


class Health(BaseModel):
    """How the service is."""

    status: Annotated[str, Field(description="ok, or why not.")]


class ServedBundle(BaseModel):
    """A model, and what really runs it."""

    bundle: str
    state: Annotated[
        Literal["loaded", "unloaded", "failed"],
        Field(
            description="`unloaded`: loaded when it is first needed; `failed`: tried again when it is needed."
        ),
    ]
    reason: Annotated[str | None, Field(description="Why it could not be loaded.")] = None
    provider: Annotated[str | None, Field(description="Where it is loaded.")] = None
    precision: str | None = None


class Readiness(Health):
    """The same, with what it serves."""

    models: list[ServedBundle]

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
        Field(description="What to translate: a text, or a list of them."),
    ] = None
    q: Annotated[
        Texts | None,
        BeforeValidator(few_texts),
        Field(description="The same, under LibreTranslate's name."),
    ] = None
    source: Annotated[
        Code | None,
        Field(
            description="Code of the text's language, or `auto`; left out: the only one, else `auto`. "
            "`de-AT` is taken for `de` unless a model has it."
        ),
    ] = None
    target: Annotated[
        Code | None, Field(description="Code of the wanted language; may be left out likewise.")
    ] = None
    format: Annotated[
        Choice, Field(description="What the text is: `text` or `html`, whose tags are kept.")
    ] = "text"
    alternatives: Annotated[
        int,
        Field(ge=0, le=1_000, description="How many translations beside the best."),
        INTEGER,
    ] = 0
    beam_size: Annotated[
        int | None,
        Field(ge=1, le=1_000, description="Beams of the search; 1 is greedy."),
        INTEGER,
    ] = None
    length_penalty: Annotated[
        float | None,
        Field(
            ge=-10,
            le=10,
            allow_inf_nan=False,
            description="Alpha of the length penalty; higher prefers longer.",
        ),
        NUMBER,
    ] = None
    max_decoding_length: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="Most tokens of a sentence's translation; else the source's and 50.",
        ),
        INTEGER,
    ] = None
    no_repeat_ngram_size: Annotated[
        int,
        Field(
            ge=0,
            le=1_000,
            description="No sentence has the same n tokens in a row twice; 0 allows it.",
        ),
        INTEGER,
    ] = 0
    rerank: Annotated[
        bool | None,
        Field(
            description="Whether the opposite direction, where the model has it, helps to choose among what "
            "the search found: better, and slower. The operator's setting if absent, by default false."
        ),
    ] = None
    target_prefix: Annotated[
        Prefix, Field(description="How the translation of a text's first sentence begins.")
    ] = ""
    split_sentences: Annotated[
        SplitSentences | None,
        Field(
            description="Where sentences end, as with DeepL: nowhere (`0`), at line breaks too (`1`, the "
            "default for text), or not there (`nonewlines`, that for HTML; blank lines in text do)."
        ),
    ] = None
    return_scores: Annotated[
        bool, Field(description="Adds `details`: every sentence with its score.")
    ] = False
    return_alignment: Annotated[
        bool,
        Field(
            description="Adds `details` with every sentence's words and their alignment, where the model "
            "has one."
        ),
    ] = False
    timeout_seconds: Annotated[
        float | None,
        Field(
            ge=0.1,
            le=86_400,
            allow_inf_nan=False,
            description="Deadline, past which the answer is 504; up to the operator's own.",
        ),
        NUMBER,
    ] = None
    api_key: Annotated[
        Key | None, Field(description="May also be given as `Authorization: Bearer KEY`.")
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
    """The half-way of a sentence that was translated through a third language."""

    language: str
    text: Annotated[str, Field(description="The sentence in that language.")]


class SentenceDetails(BaseModel):
    """One sentence of a text."""

    source: str
    target: str
    score: Annotated[
        float, Field(description="Log-probability over the length penalty; 0 is certain.")
    ]
    finish: Annotated[
        Finish,
        Field(
            description="How it was found: the search ended by itself; at its `length` limit; `repetition`: "
            "done again without a loop; `protected`: done again with its numbers protected; `pieces`: "
            "translated in pieces around placeholders and numbers that were lost otherwise; `copied`: "
            "nothing was found, and the source stands in."
        ),
    ]
    problem: Annotated[
        str | None,
        Field(description="Why the whole text was not translated: one of a list that is too long."),
    ] = None
    via: Annotated[
        Via | None,
        Field(
            description="Where it was translated through a third language; it has no alignment then."
        ),
    ] = None
    sourceTokens: Annotated[
        list[str] | None, Field(description="The source's words, if the alignment is asked for.")
    ] = None
    targetTokens: list[str] | None = None
    alignment: Annotated[
        list[list[float]] | None,
        Field(description="A row for each target word: how much it looked at each source word."),
    ] = None


class DetectedLanguage(BaseModel):
    """What a text's language was taken to be."""

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
    """A text for a text, a list for a list."""

    translatedText: Texts
    detectedLanguage: Annotated[
        DetectedLanguage | list[DetectedLanguage] | None,
        Field(description="Where `source` is `auto`."),
    ] = None
    alternatives: list[str] | list[list[str]] | None = None
    details: Annotated[
        list[list[SentenceDetails]] | None,
        Field(description="Per text its sentences, if asked for, or where one was not translated."),
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
        Field(description="Those of the targets whose model is loaded when it is first needed."),
    ] = None
    via: Annotated[
        dict[str, str] | None,
        Field(
            description="Those of the targets that are reached through a third language, and which."
        ),
    ] = None


class SideSettings(BaseModel):
    """One side of LibreTranslate's `language` settings."""

    code: str
    name: str


class LanguageSettings(BaseModel):
    """What a page may begin with."""

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

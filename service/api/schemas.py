"""Bodies of requests and answers; also the source of the OpenAPI document."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from service.errors import InvalidRequestError, MissingParameterError


def _whole_characters(text: str) -> str:
    """JSON can spell half a surrogate pair, which no encoding has.

    Raises:
        ValueError: `text` holds one; says where.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a surrogate pair at character {error.start}") from None
    return text


Text = Annotated[str, AfterValidator(_whole_characters)]
Texts = Text | list[Text]


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
        Texts | None, Field(description="What to translate: a text, or a list of them.")
    ] = None
    q: Annotated[Texts | None, Field(description="The same, under LibreTranslate's name.")] = None
    source: Annotated[
        Text | None,
        Field(description="Code of the text's language; may be left out where it is clear."),
    ] = None
    target: Annotated[
        Text | None, Field(description="Code of the wanted language; may be left out likewise.")
    ] = None
    format: Annotated[Text, Field(description="What the text is; only `text` so far.")] = "text"
    alternatives: Annotated[
        int, Field(ge=0, description="How many translations beside the best.")
    ] = 0
    beam_size: Annotated[
        int | None, Field(ge=1, description="Beams of the search; 1 is greedy.")
    ] = None
    length_penalty: Annotated[
        float | None,
        Field(ge=-10, le=10, description="Alpha of the length penalty; higher prefers longer."),
    ] = None
    return_scores: Annotated[
        bool, Field(description="Adds `details`: every sentence with its score.")
    ] = False

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.q is not None:
            raise InvalidRequestError(
                "Invalid request: text and q are two names for one parameter: give one"
            )
        if not self.given:
            raise MissingParameterError("Invalid request: missing q parameter")
        if self.format != "text":
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


class SentenceDetails(BaseModel):
    """One sentence of a text."""

    source: str
    target: str
    score: Annotated[
        float, Field(description="Log-probability over the length penalty; 0 is certain.")
    ]


class TranslateResponse(BaseModel):
    """A text for a text, a list for a list."""

    translatedText: Texts
    alternatives: list[str] | list[list[str]] | None = None
    details: Annotated[
        list[list[SentenceDetails]] | None,
        Field(description="Per text its sentences, if asked for."),
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


class Health(BaseModel):
    """How the service is."""

    status: Annotated[str, Field(description="ok, or why not.")]


class Readiness(Health):
    """The same, with what it serves."""

    bundle: str
    provider: str
    precision: str

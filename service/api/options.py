"""Fields for the options of a translation, in the dialects that have this project's names for them."""

from functools import lru_cache
from math import inf
from numbers import Real
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from service.api.fields import Choice, Code, Prefix, SplitSentences, splitting_of
from service.api.numbers import INTEGER, NUMBER
from service.errors import InvalidRequestError, LimitExceededError, MissingParameterError
from service.text.run import Format
from service.translation.options import RANGES, TranslationOptions

_options = lru_cache(maxsize=100)(TranslationOptions)  # most requests have the same options


def within(option: str, description: str) -> Any:
    """Return the field of an option, with the limits in `RANGES`."""
    allowed = RANGES[option]
    most = None if allowed.most == inf else allowed.most
    finite = False if allowed.kind is Real else None
    return Field(ge=allowed.least, le=most, allow_inf_nan=finite, description=description)


class TranslationFields(BaseModel):
    """Languages, options and time limit of a translation."""

    source: Annotated[
        Code | None,
        Field(
            description="Language code, or `auto` to detect the language of each text. By default the only "
            "source language, otherwise `auto`. `de-AT` means `de`, unless a model has `de-AT`."
        ),
    ] = None
    target: Annotated[
        Code | None, Field(description="Language code. By default the only target language.")
    ] = None
    format: Annotated[Choice, Field(description="`text` or `html`. HTML tags are preserved.")] = (
        "text"
    )
    beam_size: Annotated[
        int | None, within("beam_size", "Number of beams; 1 is greedy search."), INTEGER
    ] = None
    length_penalty: Annotated[
        float | None,
        within(
            "length_penalty",
            "Exponent of the length penalty; higher values favour longer translations.",
        ),
        NUMBER,
    ] = None
    max_decoding_length: Annotated[
        int | None,
        within(
            "max_decoding_length",
            "Maximum length of a sentence's translation in tokens. By default the source's length plus 50.",
        ),
        INTEGER,
    ] = None
    no_repeat_ngram_size: Annotated[
        int,
        within(
            "no_repeat_ngram_size",
            "No sequence of n tokens may occur twice in a sentence; 0 allows repetition.",
        ),
        INTEGER,
    ] = 0
    rerank: Annotated[
        bool | None,
        Field(
            description="Whether to choose the translation with the help of the opposite direction, if the "
            "model has it: better, but slower. The operator sets the default."
        ),
    ] = None
    target_prefix: Annotated[
        Prefix, Field(description="The beginning of the translation of each text's first sentence.")
    ] = ""
    split_sentences: Annotated[
        SplitSentences | None,
        Field(
            description="As in DeepL's API. `0`: each text is one sentence. `1`, the default for text: line "
            "breaks also end sentences. `nonewlines`, the default for HTML: they do not, but blank lines in "
            "plain text do. Line breaks within a sentence become spaces."
        ),
    ] = None
    timeout_seconds: Annotated[
        float | None,
        Field(
            ge=0.1,
            allow_inf_nan=False,
            description="Deadline, after which the answer is 504. The default and maximum is the operator's "
            "limit.",
        ),
        NUMBER,
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:
        """Remove fields that are null, as LibreTranslate does, and an empty format."""
        if not isinstance(fields, dict):
            return fields
        for name in ("source", "target"):
            if fields.get(name) == "":
                raise MissingParameterError(f"Invalid request: missing {name} parameter")
        fields = {name: value for name, value in fields.items() if value is not None}
        if fields.get("format") == "":
            del fields["format"]
        return fields

    def options(self, *, alternatives: int = 0, align: bool = False) -> TranslationOptions:
        """Return the options of search and text.

        Raises:
            InvalidRequestError: the format is neither text nor html.
        """
        if self.format not in ("text", "html"):
            raise InvalidRequestError(f"{self.format} format is not supported, only text and html")
        form: Format = "html" if self.format == "html" else "text"
        make = TranslationOptions if self.target_prefix else _options  # texts are not kept
        return make(
            beam_size=self.beam_size,
            length_penalty=self.length_penalty,
            alternatives=alternatives,
            max_decoding_length=self.max_decoding_length,
            no_repeat_ngram_size=self.no_repeat_ngram_size,
            rerank=self.rerank,
            target_prefix=self.target_prefix,
            format=form,
            splitting=splitting_of(self.split_sentences, form),
            align=align,
        )

    def timeout(self, limit: float) -> float:
        """Return the time limit in seconds: the one that is asked for, or the operator's.

        Raises:
            LimitExceededError: the request asks for more than the operator's limit.
        """
        asked = self.timeout_seconds
        if asked is not None and asked > limit:
            raise LimitExceededError(
                f"Invalid request: timeout_seconds parameter must be <= {limit:.15g}, but is {asked:.15g}"
            )
        return asked or limit

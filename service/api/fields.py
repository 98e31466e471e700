"""Types of request fields that several dialects share."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from service.keys import MAX_KEY_CHARACTERS
from service.text.run import Format
from service.text.segmenter import Splitting
from service.text.surrogates import unpaired_surrogate
from service.translation.options import MAX_CODE_CHARACTERS


def _check_surrogates(text: str) -> str:
    """Return the text unchanged.

    Raises:
        ValueError: the text has an unpaired surrogate; the message gives its position.
    """
    if (position := unpaired_surrogate(text)) is not None:
        raise ValueError(f"has an unpaired surrogate at character {position}")
    return text


def _check_surrogates_first(value: object) -> object:
    """Do the same before pydantic checks the length, whose message about surrogates is unclear."""
    return _check_surrogates(value) if isinstance(value, str) else value


def few_texts(value: object) -> object:
    """Return the value unchanged; check the length of a list before its items are validated.

    Raises:
        ValueError: the list has more than `MAX_TEXTS` items.
    """
    if isinstance(value, list) and len(value) > MAX_TEXTS:
        raise ValueError(f"must have at most {MAX_TEXTS} items, not {len(value)}")
    return value


def _lowercased(value: object) -> object:
    """Return a string or number as a string in lower case."""
    return str(value).lower() if isinstance(value, str | int) else value


MAX_TEXTS = 2_000
"""Limit on the texts of a request, in every dialect."""
Text = Annotated[str, AfterValidator(_check_surrogates)]
Code = Annotated[
    str, Field(max_length=MAX_CODE_CHARACTERS), BeforeValidator(_check_surrogates_first)
]
"""A language code; also the name of a tag or an output."""
Choice = Annotated[str, Field(max_length=16), BeforeValidator(_check_surrogates_first)]
"""One of a few keywords."""
Key = Annotated[str, Field(max_length=MAX_KEY_CHARACTERS), BeforeValidator(_check_surrogates_first)]
"""An API key."""
Id = Annotated[str, Field(max_length=256), BeforeValidator(_check_surrogates_first)]
"""A client's id for its request."""
Prefix = Annotated[str, Field(max_length=1_000), BeforeValidator(_check_surrogates_first)]
"""A target prefix."""
# only the first error is reported; collecting those of a large list would take seconds
TextList = Annotated[list[Text], Field(fail_fast=True, max_length=MAX_TEXTS)]
Texts = Text | TextList
SplitSentences = Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(_lowercased)]


def splitting_of(split_sentences: str | None, form: Format) -> Splitting | None:
    """Return where to split a text, given DeepL's `split_sentences` or None for the default.

    In plain text, `nonewlines` still ends a paragraph at each blank line.
    """
    if split_sentences is None:
        return None
    if split_sentences == "nonewlines":
        return "paragraphs" if form == "text" else "sentences"
    return "none" if split_sentences == "0" else "all"

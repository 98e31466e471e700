"""Types of fields that several dialects share."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from service.text.run import Format
from service.text.segmenter import Splitting
from service.text.surrogates import unpaired_surrogate


def _whole_characters(text: str) -> str:
    """The text itself.

    Raises:
        ValueError: it has half a surrogate pair; says where.
    """
    if (place := unpaired_surrogate(text)) is not None:
        raise ValueError(f"has an unpaired surrogate at character {place}")
    return text


def _whole_if_text(given: object) -> object:
    """The same before a text's length is looked at, which fails for half a pair with other words."""
    return _whole_characters(given) if isinstance(given, str) else given


def few_texts(given: object) -> object:
    """A list is counted before it is looked at, so that its length is what is told, and not what is in it.

    Raises:
        ValueError: there are more than `MAX_TEXTS`.
    """
    if isinstance(given, list) and len(given) > MAX_TEXTS:
        raise ValueError(f"must have at most {MAX_TEXTS} items, not {len(given)}")
    return given


def _in_small_letters(given: object) -> object:
    """A word, or the number that it is."""
    return str(given).lower() if isinstance(given, str | int) else given


MAX_TEXTS = 2_000
"""In a list, in every dialect."""
Text = Annotated[str, AfterValidator(_whole_characters)]
Code = Annotated[str, Field(max_length=64), BeforeValidator(_whole_if_text)]
"""Of a language; also the name of a tag."""
Choice = Annotated[str, Field(max_length=16), BeforeValidator(_whole_if_text)]
"""One of a few words."""
Key = Annotated[str, Field(max_length=256), BeforeValidator(_whole_if_text)]
Id = Annotated[str, Field(max_length=256), BeforeValidator(_whole_if_text)]
"""Of a request."""
Prefix = Annotated[str, Field(max_length=1_000), BeforeValidator(_whole_if_text)]
# one thing that is wrong is told: to gather all of a large list's would take seconds
TextList = Annotated[list[Text], Field(fail_fast=True, max_length=MAX_TEXTS)]
Texts = Text | TextList
SplitSentences = Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(_in_small_letters)]


def splitting_of(asked: str | None, form: Format) -> Splitting:
    """Where to cut a text; `asked` is what DeepL calls it.

    In HTML, line breaks are blanks; in plain text, a blank line ends a paragraph, whatever is asked.
    """
    asked = asked or ("nonewlines" if form == "html" else "1")
    if asked == "nonewlines":
        return "paragraphs" if form == "text" else "sentences"
    return "none" if asked == "0" else "all"

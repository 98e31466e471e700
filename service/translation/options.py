"""The options of a translation, and the values that they may have in every interface."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import NamedTuple, get_args

from service.errors import InvalidRequestError, quoted
from service.text.run import Format
from service.text.segmenter import Splitting
from service.text.surrogates import unpaired_surrogate

MAX_CODE_CHARACTERS = 64
"""Limit for language codes."""
_KINDS: dict[type, str] = {Integral: "an integer", Real: "a number"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""A control character that is no space: vocabularies drop some, and after others a model writes nonsense."""


class Range(NamedTuple):
    """The values that a number may have."""

    kind: type
    """Integral or Real."""
    least: int
    most: float = inf

    def __str__(self) -> str:
        return f">= {self.least}" if self.most == inf else f"between {self.least} and {self.most}"


RANGES = {
    "beam_size": Range(Integral, 1),
    "length_penalty": Range(Real, -10, 10),
    "alternatives": Range(Integral, 0),
    "max_decoding_length": Range(Integral, 1),
    "no_repeat_ngram_size": Range(Integral, 0, 1_000),
}
"""What does not depend on the model or the operator, whose limits are those of `decoding_options`."""


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """Options of a request; None means the bundle's default."""

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    """Number of translations besides the best one."""
    max_decoding_length: int | None = None
    """Limit for the tokens of a sentence's translation; the source's length implies another limit."""
    no_repeat_ngram_size: int = 0
    rerank: bool | None = None
    """Whether the channel model, if there is one, reranks hypotheses; None means the operator's default."""
    target_prefix: str = ""
    """Forced beginning of the translation of a text's first sentence."""
    format: Format = "text"
    splitting: Splitting | None = None
    """Where sentences end; None: at line breaks, too, except in HTML, where these are spaces."""
    ignored_tags: tuple[str, ...] = ()
    """Names of elements whose text is preserved unchanged."""
    align: bool = False
    """Whether to return the alignment of every sentence."""

    def __post_init__(self) -> None:
        """Check all that does not depend on the model.

        Raises:
            InvalidRequestError: a value has a wrong type, is out of its range, or not among its choices.
        """
        for name, allowed in RANGES.items():
            value = getattr(self, name)
            if value is None and self.__dataclass_fields__[name].default is None:
                continue
            if not is_number(value, allowed.kind):
                raise impossible(name, _KINDS[allowed.kind], value)
            if not allowed.least <= value <= allowed.most:
                raise impossible(name, str(allowed), value)
        for name, choices in (("format", get_args(Format)), ("splitting", get_args(Splitting))):
            value = getattr(self, name)
            if value not in choices and value is not self.__dataclass_fields__[name].default:
                raise impossible(name, f"one of {', '.join(choices)}", value)
        for name, switches in (("rerank", (True, False, None)), ("align", (True, False))):
            value = getattr(self, name)
            if not any(value is switch for switch in switches):
                raise impossible(name, "true or false", value)
        if not _are_strings(self.ignored_tags):
            raise impossible("ignored_tags", "a list of strings", self.ignored_tags)
        if not isinstance(self.target_prefix, str):
            raise impossible("target_prefix", "a string", self.target_prefix)
        # hashable
        object.__setattr__(self, "ignored_tags", tuple(self.ignored_tags))
        tags = (("ignored_tags", tag) for tag in self.ignored_tags)
        for name, text in (("target_prefix", self.target_prefix), *tags):
            check_surrogates(name, text)
        if control := _CONTROL.search(self.target_prefix):
            raise InvalidRequestError(
                f"Invalid request: target_prefix parameter has a control character at character "
                f"{control.start()}"
            )


def is_number(value: object, kind: type) -> bool:
    """Check for a number of a kind. True and False are not numbers, though Python counts them as integers."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_code(name: str, code: object) -> None:
    """Check that a value could be a language code; None (not given) is allowed.

    Raises:
        InvalidRequestError: it is no string, empty, too long, or cannot be encoded; the message says `name`.
    """
    if code is None:
        return
    if not isinstance(code, str) or not code:
        raise impossible(name, "a language code", code)
    if len(code) > MAX_CODE_CHARACTERS:
        raise impossible(name, f"at most {MAX_CODE_CHARACTERS} characters long", code)
    check_surrogates(name, code)


def check_surrogates(name: str, text: str) -> None:
    """Check that a text can be encoded.

    Raises:
        InvalidRequestError: it has an unpaired surrogate; the message says `name`.
    """
    if (position := unpaired_surrogate(text)) is not None:
        raise InvalidRequestError(
            f"Invalid request: {name} parameter has an unpaired surrogate at character {position}"
        )


def _are_strings(value: object) -> bool:
    """Check for a collection of strings. A string is not one, though its items are strings, too."""
    if isinstance(value, str) or not isinstance(value, Collection):
        return False
    return all(isinstance(item, str) for item in value)


def impossible(name: str, allowed: str, value: object) -> InvalidRequestError:
    """Return the error for a parameter with another value than the allowed ones."""
    return InvalidRequestError(
        f"Invalid request: {name} parameter must be {allowed}, but is {quoted(value)}"
    )

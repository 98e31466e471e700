"""Header fields for content types, encodings and preferences (RFC 9110, 5.6.6, 8.3, 12.5.1)."""

import re
from collections.abc import Iterator
from contextlib import suppress

from starlette.types import Scope

from service.api.errors import shortened
from service.errors import InvalidRequestError

_PARAMETER = re.compile(
    r"""
    ; \s*+ ([\w!#$%&'*+.^`|~-]++) =       # ; name=
    (?: "((?:[^"\\]|\\.)*+)" | ([^\s;,"]*+) )  # "quoted" or a token
    """,
    re.VERBOSE,
)
MAX_FIELD_CHARACTERS = 2048
"""Limit on a field of which the parts are read, which takes up to 3 ms."""
_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)
_UTF_8 = ("utf-8", "utf8", "us-ascii", "ascii")
_IDENTITY = ("", "identity", "utf-8")
"""Values of `Content-Encoding` without effect; some clients send their charset here."""


def field_of(scope: Scope, name: bytes) -> str:
    """Return a request's header field by its lower-case name, or "" if it is absent.

    Repeated fields are joined with commas (RFC 9110, 5.3).
    """
    values = [value for field_name, value in scope["headers"] if field_name == name]
    return b",".join(values).decode("latin-1")


def parse_value(value: str) -> tuple[str, dict[str, str]]:
    r"""Return a field's value and its parameters; the value and the names are in lower case.

    >>> parse_value('Form-Data; name="a \\"b\\""; Size=5')
    ('form-data', {'name': 'a "b"', 'size': '5'})

    Raises:
        InvalidRequestError: a parameter is given twice, with different values or also in the encoding of
            RFC 8187 (`name*`), or the field is too long.
    """
    _check_length(value)
    parameters: dict[str, str] = {}
    for name, quoted, token in _PARAMETER.findall(value):
        parameter = re.sub(r"\\(.)", r"\1", quoted) or token
        if parameters.setdefault(name.lower(), parameter) != parameter:
            raise _given_twice(name, value)
    for name in parameters:
        plain_name, star, _ = name.partition("*")
        if star and plain_name in parameters:
            raise _given_twice(plain_name, value)
    return value.partition(";")[0].strip().lower(), parameters


def _given_twice(name: str, value: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"Invalid request: {shortened(name)} is given more than once in {shortened(value.strip())}"
    )


def check_coding(coding: str) -> None:
    """Check that a body is not declared to be compressed.

    Args:
        coding: the value of `Content-Encoding`, "" if it is absent.

    Raises:
        InvalidRequestError: the body is compressed, and the message names the coding; or the field is too
            long.
    """
    _check_length(coding)
    if any(name.strip().lower() not in _IDENTITY for name in coding.split(",")):
        raise InvalidRequestError(
            f"Invalid request: content-encoding {shortened(coding)} is not supported; "
            "send the body uncompressed"
        )


def check_charset(parameters: dict[str, str]) -> None:
    """Check that no charset other than UTF-8 is declared.

    Raises:
        InvalidRequestError: another charset is declared; the message names it.
    """
    charset = parameters.get("charset", "utf-8")
    if charset.lower() not in _UTF_8:
        raise InvalidRequestError(
            f"Invalid request: charset {shortened(charset)} is not supported; send UTF-8"
        )


def preferred(accept: str, offers: tuple[str, ...]) -> str:
    """Return which of `offers` an `Accept` field prefers; the first, the default, if it accepts none.

    Among offers of the same weight, one that is named wins over one that a wildcard covers.

    >>> offers = "application/json", "text/plain"
    >>> preferred("TEXT/PLAIN; charset=utf-8, */*", offers), preferred("text/plain;q=0.2, */*;q=0.5", offers)
    ('text/plain', 'application/json')

    Raises:
        InvalidRequestError: the field is too long.
    """
    _check_length(accept)
    if not accept:
        return offers[0]
    weights = dict(_weights(accept))

    def rank(offer: str) -> tuple[float, int]:
        ranges = offer, f"{offer.partition('/')[0]}/*", "*/*"
        for position, name in enumerate(ranges):
            if name in weights:  # the most specific range decides
                return weights[name], -position if weights[name] else -len(ranges)
        return 0.0, -len(ranges)

    return max(offers, key=rank)  # the first of equals


def _check_length(value: str) -> None:
    if len(value) > MAX_FIELD_CHARACTERS:
        raise InvalidRequestError(
            f"Invalid request: a header field has {len(value)} characters, the limit is "
            f"{MAX_FIELD_CHARACTERS}: {shortened(value)}"
        )


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    """Yield the media ranges with their weights; a range with an invalid weight is skipped."""
    for entry in accept.split(","):
        with suppress(InvalidRequestError):
            name, parameters = parse_value(entry)
            weight = parameters.get("q", "1")
            if _WEIGHT.fullmatch(weight):
                yield name, float(weight)

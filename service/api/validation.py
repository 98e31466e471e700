"""Messages for invalid fields, in the terms of JSON rather than pydantic's."""

from collections.abc import Callable
from typing import Any

from fastapi.exceptions import RequestValidationError

from service.errors import quoted

_EXPECTATIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "int_parsing": lambda _: "must be an integer",
    "int_parsing_size": lambda _: "must be an integer of fewer digits",
    "int_type": lambda _: "must be an integer",
    "int_from_float": lambda _: "must be an integer",
    "float_parsing": lambda _: "must be a number",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a finite number",
    "bool_parsing": lambda _: "must be true or false",
    "bool_type": lambda _: "must be true or false",
    "string_type": lambda _: "must be a string",
    "list_type": lambda _: "must be a list",
    "greater_than_equal": lambda limits: f"must be >= {limits['ge']:.15g}",
    "less_than_equal": lambda limits: f"must be <= {limits['le']:.15g}",
    "string_too_long": lambda limits: f"must have at most {limits['max_length']} characters",
    "too_long": lambda limits: f"must have at most {limits['max_length']} items",
    "too_short": lambda limits: f"must have at least {limits['min_length']} item",
    "literal_error": lambda known: "must be " + known["expected"].replace("'", '"'),
    "value_error": lambda raised: str(raised["error"]),
}
"""By pydantic's type of error: a function that words the expectation, given the error's context."""
_TYPES = ("str", "int", "float", "bool")
"""Pydantic's names for branches of unions."""


def describe(error: RequestValidationError) -> str:
    """Return a one-line message for the first error: the field, what is expected, and the value."""
    errors = error.errors()
    # all branches of a union are tried: the error at the greatest depth is in the one that was meant
    depth = max(len(detail["loc"]) for detail in errors)
    deepest_error = next(detail for detail in errors if len(detail["loc"]) == depth)
    path = _path_of(deepest_error)
    if path == "alternatives" and deepest_error["type"] in ("int_parsing", "int_type"):
        return "Invalid request: alternatives parameter is not a number"  # LibreTranslate's words
    expected = _expectation(deepest_error)
    if deepest_error["type"] == "string_type" and ("list_type", path) in [
        (detail["type"], _path_of(detail)) for detail in errors
    ]:
        expected = "must be a string or a list of strings"
    link = ", but is " if expected.startswith("must be") else ": "
    return f"Invalid request: {path} parameter {expected}{link}{quoted(deepest_error.get('input'))}"


def _path_of(error: dict[str, Any]) -> str:
    """Return the path of the field, without the branches of unions."""
    field, *inner = error["loc"]
    named = [field, *(part for part in inner if not _is_type(part))]
    return quoted(".".join(map(str, named))).strip('"')


def _is_type(part: int | str) -> bool:
    return part in _TYPES or (isinstance(part, str) and not part.isidentifier())


def _expectation(error: dict[str, Any]) -> str:
    worded = _EXPECTATIONS.get(error["type"])
    return worded(error.get("ctx", {})) if worded else f"is invalid: {error['msg']}"

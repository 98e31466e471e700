"""What is wrong with a request's fields, in the terms of JSON, not of the validating library."""

from collections.abc import Callable
from typing import Any

from fastapi.exceptions import RequestValidationError

from service.errors import quoted

_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
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
"""By pydantic's type of error: what is said of a field, given the context of the error."""
_TYPES = ("str", "int", "float", "bool")
"""Branches of unions, as pydantic calls them."""


def describe(error: RequestValidationError) -> str:
    """One line for the first thing that is wrong: where, what is expected, what was given."""
    found = error.errors()
    # of a text or a list of texts, each is tried: what goes deepest was meant
    deepest = max(len(one["loc"]) for one in found)
    first = next(one for one in found if len(one["loc"]) == deepest)
    place = _place(first)
    if place == "alternatives" and first["type"] in ("int_parsing", "int_type"):
        return "Invalid request: alternatives parameter is not a number"  # LibreTranslate's words
    wanted = _said(first)
    if first["type"] == "string_type" and ("list_type", place) in [
        (one["type"], _place(one)) for one in found
    ]:
        wanted = "must be a string or a list of strings"
    link = ", but is " if wanted.startswith("must be") else ": "
    return f"Invalid request: {place} parameter {wanted}{link}{quoted(first.get('input'))}"


def _place(error: dict[str, Any]) -> str:
    """The field, and the item or field in it, but not the branches of a union between them."""
    field, *inner = error["loc"]
    named = [field, *(part for part in inner if not _is_type(part))]
    return quoted(".".join(map(str, named))).strip('"')


def _is_type(part: int | str) -> bool:
    return part in _TYPES or (isinstance(part, str) and not part.isidentifier())


def _said(error: dict[str, Any]) -> str:
    say = _WORDS.get(error["type"])
    return say(error.get("ctx", {})) if say else f"is wrong: {error['msg']}"

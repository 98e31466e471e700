"""Validation of numbers in forms, which must be written as in JSON."""

import re
from typing import Literal

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError

_JSON_NUMBER = re.compile(r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+")


def _validator(kind: Literal["int", "float"]) -> BeforeValidator:
    """Return a validator that refuses `1_0`, ` 5`, `+5` and true, which pydantic would accept."""

    def check(value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError("int_type" if kind == "int" else "float_type")
        if isinstance(value, str) and not _JSON_NUMBER.fullmatch(value):
            raise PydanticKnownError("int_parsing" if kind == "int" else "float_parsing")
        return value

    return BeforeValidator(check)


INTEGER, NUMBER = _validator("int"), _validator("float")
"""For fields of type `int` and `float`; after `Field`, so that its limits apply to the number itself."""

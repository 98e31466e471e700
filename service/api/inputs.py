"""What clients send to `POST /translate`: a JSON object, a form, plain text, or all of it in the query.

Fields of the body go over those of the query. Form and query repeat `q` to give a list.
"""

import json
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from service.api.schemas import TranslateRequest
from service.errors import InvalidRequestError

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
_LISTS = ("q", "text")


async def translate_request(request: Request) -> TranslateRequest:
    """The request's fields, whichever way they came.

    Raises:
        InvalidRequestError, RequestValidationError: they cannot be read, or are wrong.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    fields = _pairs(request.url.query) | _fields(kind, await request.body())
    try:
        return TranslateRequest.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def _fields(kind: str, body: bytes) -> dict[str, Any]:
    """The body's fields."""
    if not body.strip():
        return {}
    text = _decode(body)
    if kind in (JSON, ""):
        return _json_object(text)
    if kind == FORM:
        return _pairs(text)
    if kind == PLAIN:
        return {"text": text}
    raise InvalidRequestError(
        f"Invalid request: content-type {kind} is not supported; send {JSON}, {FORM} or {PLAIN}"
    )


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        place = f"{error.reason} at byte {error.start}"
        raise InvalidRequestError(
            f"Invalid request: the body is not valid UTF-8: {place}"
        ) from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"Invalid request: the body is not valid JSON: {error.msg} at character {error.pos}"
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        raise InvalidRequestError(
            f"Invalid request: the body cannot be read as JSON: {error}"
        ) from None
    if not isinstance(value, dict):
        raise InvalidRequestError("Invalid request: the body must be a JSON object")
    return value


def _pairs(encoded: str) -> dict[str, Any]:
    """Fields of a form or a query; an empty one but for the text counts as absent."""
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(encoded, keep_blank_values=True):
        if name in _LISTS and name in fields:
            present = fields[name]
            fields[name] = [*present, value] if isinstance(present, list) else [present, value]
        elif value or name in _LISTS:
            fields[name] = value
    return fields


_SCHEMA = TranslateRequest.model_json_schema()
OPENAPI_BODY = {
    "requestBody": {
        "description": "The same fields may also come in the query.",
        "content": {
            JSON: {"schema": _SCHEMA},
            FORM: {"schema": _SCHEMA},
            PLAIN: {"schema": {"type": "string", "description": "The text; options in the query."}},
        },
    }
}
"""How the interface's documentation describes all this."""

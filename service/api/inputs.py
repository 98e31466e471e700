"""What clients send: a JSON object, a form of either kind, plain text, or all of it in the query.

Fields of the body go over those of the query. Form and query repeat a text to give a list.
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from python_multipart.exceptions import FormParserError
from starlette.exceptions import HTTPException

from service.api.errors import shortened
from service.errors import InvalidRequestError

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
MULTIPART = "multipart/form-data"
PARSED_ON_LOOP_BYTES = 65_536
_PARSER = ThreadPoolExecutor(1, "parser")
"""Larger bodies are parsed one after another beside the event loop: a form of percent signs takes long."""
_LISTS = ("q", "text", "ignore_tags")
MAX_FIELDS = 4096
"""Of a form or a query; each text of a list is one."""

Model = TypeVar("Model", bound=BaseModel)
Enter = Callable[[Request, object], None]
"""Lets a request in, or raises; is given the key among its fields, whatever stands there."""


async def fields_of(request: Request, enter: Enter, key: str = "api_key") -> dict[str, Any]:
    """The fields of query and body together, once the caller may `enter`; the `key` is one of them.

    Who may not, or too often, learns that before anything of what is wrong with the fields.

    Raises:
        AccessError, RateLimitError: the caller may not go on.
        InvalidRequestError: query or body cannot be read.
    """
    fields: dict[str, Any] = {}
    try:
        fields |= _pairs(request.scope["query_string"].decode("latin-1"), "query")
        fields |= await _body_fields(request)
    except InvalidRequestError:
        enter(request, fields.get(key))
        raise
    enter(request, fields.get(key))
    return fields


def parse(model: type[Model], fields: dict[str, Any]) -> Model:
    """The fields as a `model`.

    Raises:
        InvalidRequestError, RequestValidationError: they are wrong.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def _body_fields(request: Request) -> dict[str, Any]:
    """The fields of the body; those of a large one are parsed beside the event loop."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == MULTIPART:
        return await _parts(request, body)
    if len(body) <= PARSED_ON_LOOP_BYTES:
        return _fields(kind, body)
    return await asyncio.get_running_loop().run_in_executor(_PARSER, _fields, kind, body)


def _fields(kind: str, body: bytes) -> dict[str, Any]:
    """The body's fields."""
    if not body.strip():
        return {}
    text = _decode(body)
    if kind in (JSON, ""):
        return _json_object(text)
    if kind == FORM:
        return _pairs(text, "form")
    if kind == PLAIN:
        return {"q": text}
    raise InvalidRequestError(
        f"Invalid request: content-type {shortened(kind)} is not supported; send {JSON}, {FORM}, "
        f"{MULTIPART} or {PLAIN}"
    )


async def _parts(request: Request, body: bytes) -> dict[str, Any]:
    """The fields of a form in several parts, as browsers, curl's -F and PHP send it."""
    _decode(body)  # what is no UTF-8 would be taken for another encoding
    try:
        form = await request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=len(body) + 1)
    except (HTTPException, FormParserError) as error:
        reason = error.detail if isinstance(error, HTTPException) else str(error)
        raise InvalidRequestError(
            f"Invalid request: the form cannot be read: {shortened(reason)}"
        ) from None
    return _gathered([(name, str(value)) for name, value in form.multi_items()])


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")  # PowerShell writes a byte order mark
    except UnicodeDecodeError as error:
        if body.startswith(b"\x1f\x8b"):
            raise InvalidRequestError(
                "Invalid request: the body is compressed by gzip, which is not supported; send it as it is"
            ) from None
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
    except RecursionError:
        raise InvalidRequestError("Invalid request: the JSON body is nested too deeply") from None
    except ValueError:  # as Python says it, with its own limit
        message = "Invalid request: a number in the JSON body has too many digits"
        raise InvalidRequestError(message) from None
    if not isinstance(value, dict):
        raise InvalidRequestError("Invalid request: the body must be a JSON object")
    return value


def _pairs(encoded: str, place: str) -> dict[str, Any]:
    """Fields of a form or a query; an empty one but for the text counts as absent."""
    count = encoded.count("&") + 1
    if count > MAX_FIELDS:
        raise InvalidRequestError(
            f"Invalid request: the {place} has {count} fields, the limit is {MAX_FIELDS}"
        )
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"Invalid request: the {place} is not valid UTF-8: {error.reason}"
        ) from None
    return _gathered(pairs)


def _gathered(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Fields by name; those that may be lists are one if they come more than once."""
    fields: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in _LISTS:
            texts.setdefault(name, []).append(value)
        elif value:
            fields[name] = value
    return fields | {name: found if len(found) > 1 else found[0] for name, found in texts.items()}


def openapi_body(model: type[BaseModel]) -> dict[str, Any]:
    """How the interface's documentation describes all this."""
    schema = model.model_json_schema()
    text = {"type": "string", "description": "The text; options in the query."}
    return {
        "requestBody": {
            "description": "The same fields may also come in the query.",
            "content": {
                JSON: {"schema": schema},
                FORM: {"schema": schema},
                MULTIPART: {"schema": schema},
                PLAIN: {"schema": text},
            },
        }
    }


def openapi_query(model: type[BaseModel], *lists: str) -> dict[str, Any]:
    """The same fields where there is no body; `lists` are repeated."""
    schema = model.model_json_schema()
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in schema.get("required", ()),
                "schema": {"type": "array", "items": {"type": "string"}}
                if name in lists
                else {"type": "string"},
            }
            for name in schema["properties"]
        ]
    }

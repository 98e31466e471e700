"""What clients send: a JSON object, a form of either encoding, plain text, or all fields in the query.

In a form or query, a repeated text makes a list. A field that is in both query and body, or that is repeated
where it must not be, is refused, because a proxy or a filter may have checked the other value.
"""

import asyncio
import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from service.api.errors import shortened
from service.api.forms import Fields, multipart, urlencoded
from service.api.media import check_charset, check_coding, field_of, parse_value
from service.errors import InvalidRequestError

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
MULTIPART = "multipart/form-data"
PARSED_ON_LOOP_BYTES = 65_536
_PARSER = ThreadPoolExecutor(1, "parser")
"""Larger bodies are parsed one after another beside the event loop, which they would hold up."""

Model = TypeVar("Model", bound=BaseModel)
Enter = Callable[[Request, object], None]
"""Lets a request in, or raises; is given the key among its fields, whatever stands there."""


async def fields_of(
    request: Request, enter: Enter, key: str = "api_key", text: str = "q"
) -> dict[str, Any]:
    """The fields of query and body together, once the caller may `enter`.

    Who may not, or too often, learns that before anything of what is wrong with the fields.

    Args:
        request: whose query and body are read.
        enter: lets the caller in.
        key: the field that has the API key.
        text: the field that a body of plain text is.

    Raises:
        AccessError, RateLimitError: the caller may not go on.
        InvalidRequestError: query or body cannot be read.
    """
    fields = Fields()
    try:
        if query := request.scope["query_string"]:
            fields = urlencoded(query, "query")
        body = await _body_fields(request, text)
        fields = fields.beside(body) if fields else body
    except InvalidRequestError:
        enter(request, fields.get(key))
        raise
    enter(request, fields.get(key))
    fields.check()
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


async def json_fields(body: bytes) -> Fields:
    """The fields of a body that is a JSON object.

    Raises:
        InvalidRequestError: it is something else, or has a field more than once.
    """
    fields = await _parsed(body, lambda: _json_object(_decode(body)))
    fields.check()
    return fields


async def body_of(request: Request) -> bytes:
    """The body, as it is.

    Raises:
        InvalidRequestError: it is declared to be compressed.
        ClientDisconnect: there is nobody any more whose it would be.
    """
    check_coding(field_of(request.scope, b"content-encoding"))
    pieces, more = [], True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


async def _body_fields(request: Request, text: str) -> Fields:
    """The fields of the body."""
    kind, body = field_of(request.scope, b"content-type"), await body_of(request)
    return await _parsed(body, lambda: _fields(kind, body, text))


async def _parsed(body: bytes, parse: Callable[[], Fields]) -> Fields:
    """The fields that `parse` finds in a body; a large one is parsed beside the event loop."""
    if len(body) <= PARSED_ON_LOOP_BYTES:
        return parse()
    return await asyncio.get_running_loop().run_in_executor(_PARSER, parse)


def _fields(content_type: str, body: bytes, text: str) -> Fields:
    """The body's fields; plain text is the one named `text`."""
    kind, parameters = parse_value(content_type)
    if not body.strip() and kind != MULTIPART:
        return Fields()
    check_charset(parameters)
    decoded = _decode(body)
    if kind in (JSON, ""):
        return _json_object(decoded)
    if kind == FORM:
        return urlencoded(decoded.encode(), "form")
    if kind == MULTIPART:
        return multipart(body, parameters.get("boundary", ""))
    if kind == PLAIN:
        return Fields([(text, decoded)])
    raise InvalidRequestError(
        f"Invalid request: content-type {shortened(kind)} is not supported; send {JSON}, {FORM}, "
        f"{MULTIPART} or {PLAIN}"
    )


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


def _json_object(text: str) -> Fields:
    try:
        value, repeated = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        wrong = error.msg.removesuffix(" at")  # of "Invalid control character at"
        raise InvalidRequestError(
            f"Invalid request: the body is not valid JSON: {wrong} at character {error.pos}"
        ) from None
    except RecursionError:
        raise InvalidRequestError("Invalid request: the JSON body is nested too deeply") from None
    except ValueError:  # as Python says it, with its own limit
        message = "Invalid request: a number in the JSON body has too many digits"
        raise InvalidRequestError(message) from None
    if not isinstance(value, Fields):
        raise InvalidRequestError("Invalid request: the body must be a JSON object")
    value.repeated = repeated
    return value


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidRequestError(
            f"Invalid request: a number in the JSON body is too large: {shortened(digits)}"
        )
    return number


class _Decoder(threading.local):
    """Reads JSON, with a decoder for each thread: to make one takes as long as to read a short body."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(object_pairs_hook=self._gather, parse_float=_finite)
        self._repeated = ""

    def decode(self, text: str) -> tuple[object, str]:
        """A value, and a name that one of its objects, at any depth, has more than once."""
        self._repeated = ""
        return self._decoder.decode(text), self._repeated

    def _gather(self, pairs: list[tuple[str, Any]]) -> Fields:
        fields = Fields(pairs)
        self._repeated = self._repeated or fields.repeated
        return fields


_DECODER = _Decoder()


def openapi_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema in one piece: what it refers to lies elsewhere in the interface's documentation."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(one) for one in part]
        if not isinstance(part, dict):
            return part
        name = part.get("$ref", "").rpartition("/")[2]
        joined = {**parts.get(name, {}), **part}
        joined.pop("$ref", None)
        return {key: whole(value) for key, value in joined.items()}

    return {key: whole(value) for key, value in schema.items()}


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

"""Fields of a request: from a JSON object, a form of either encoding, plain text, or the query.

In a form or a query, repeated texts become a list. A field that is in both query and body, or is repeated
although it cannot be a list, is refused: a proxy or a filter may have checked the other value.
"""

import asyncio
import json
import math
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from service.api import client_state
from service.api.dialects import dialect_of
from service.api.errors import shortened
from service.api.forms import Fields, multipart, urlencoded
from service.api.media import check_charset, check_coding, field_of, parse_value
from service.api.middleware import limits
from service.errors import InvalidRequestError
from service.fair_queue import FairQueue
from service.threads import Threads
from service.watch import watched

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
MULTIPART = "multipart/form-data"
PARSED_ON_LOOP_BYTES = 16_384
PARSER = Threads(1, "parser")
"""Parses larger bodies, one at a time, as they would block the event loop."""
_QUEUE = FairQueue()

Model = TypeVar("Model", bound=BaseModel)
Enter = Callable[[Request, object], None]
"""Checks whether a request is allowed, given the key from its fields, of any type; otherwise raises."""


async def fields_of(request: Request, enter: Enter, text: str = "q") -> dict[str, Any]:
    """Return the fields of query and body together.

    Errors of access take precedence over errors in the fields.

    Args:
        request: the request, whose body is read.
        enter: checks the caller's key, which is in the field of the path's dialect, and its rate.
        text: the name of the field for a body of plain text.

    Raises:
        AccessError: the API key is missing or invalid.
        RateLimitError: the caller has exceeded its rate limit.
        InvalidRequestError: the query or the body cannot be read, or a field is given more than once.
    """
    fields, key = Fields(), dialect_of(request.scope["path"]).key_field
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
    """Validate the fields, and return them as a `model`.

    Raises:
        InvalidRequestError, RequestValidationError: a field is missing or invalid.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def json_fields(request: Request, body: bytes) -> Fields:
    """Return the fields of a body that is a JSON object.

    Raises:
        InvalidRequestError: the body is not a JSON object, or has a field more than once.
    """
    fields = await _parsed(request, body, lambda: _json_object(_decode(body)))
    fields.check()
    return fields


async def body_of(request: Request) -> bytes:
    """Return the bytes of the body.

    Raises:
        InvalidRequestError: the body is declared to be compressed.
    """
    check_coding(field_of(request.scope, b"content-encoding"))
    content: bytes = (await request.receive())["body"]  # all of it, see `BodyLimit`
    return content


async def _body_fields(request: Request, text: str) -> Fields:
    """Return the fields of the body."""
    kind, body = field_of(request.scope, b"content-type"), await body_of(request)
    return await _parsed(request, body, lambda: _fields(kind, body, text))


async def _parsed(request: Request, body: bytes, parse: Callable[[], Fields]) -> Fields:
    """Return the result of `parse`, which runs in a thread if the body is large."""
    try:
        if len(body) <= PARSED_ON_LOOP_BYTES:
            return parse()
        return await _parsed_on_thread(request, len(body), parse)
    finally:
        limits.release(request.scope)


async def _parsed_on_thread(request: Request, size: int, parse: Callable[[], Fields]) -> Fields:
    """Return the result of `parse`, which runs when it is its turn; `size` is that of the body in bytes."""
    loop, client = asyncio.get_running_loop(), request.scope.get(client_state.KEY)
    started = loop.time()
    async with _QUEUE.turn(size):
        if client is not None:
            client.seconds_in_line += loop.time() - started
        return await loop.run_in_executor(PARSER, watched, "the parser of requests", parse)


def _fields(content_type: str, body: bytes, text: str) -> Fields:
    """Return the fields of a body; `text` is the name of the field for plain text."""
    kind, parameters = parse_value(content_type)
    if not body.strip() and kind != MULTIPART:
        return Fields()
    check_charset(parameters)
    decoded = _decode(body)
    if kind in (JSON, ""):
        return _json_object(decoded)
    if kind == FORM:
        if decoded.startswith("{") and decoded.rstrip().endswith("}"):  # curl -d, without a header
            raise InvalidRequestError(
                f"Invalid request: the body is JSON, but its content-type is {FORM}; "
                f"send it with the header content-type: {JSON}"
            )
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
                "Invalid request: the body is compressed by gzip, which is not supported; "
                "send it uncompressed"
            ) from None
        location = f"{error.reason} at byte {error.start}"
        raise InvalidRequestError(
            f"Invalid request: the body is not valid UTF-8: {location}"
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
    except ValueError:  # an integer beyond Python's limit on digits
        message = "Invalid request: a number in the JSON body has too many digits"
        raise InvalidRequestError(message) from None
    if not isinstance(value, dict):
        raise InvalidRequestError("Invalid request: the body must be a JSON object")
    fields = Fields(value.items())
    fields.repeated = repeated
    return fields


class _Decoder(threading.local):
    """A JSON decoder for each thread; creating one takes as long as reading a short body."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._gather, parse_float=_finite, parse_constant=_refuse
        )
        self._repeated = ""

    def decode(self, text: str) -> tuple[object, str]:
        """Return the value, and a name that occurs more than once in one of its objects, at any depth."""
        self._repeated = ""
        return self._decoder.decode(text), self._repeated

    def _gather(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)  # not `Fields`: a body may have hundreds of thousands of objects
        if len(fields) < len(pairs) and not self._repeated:
            self._repeated = Fields(pairs).repeated
        return fields


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidRequestError(
            f"Invalid request: a number in the JSON body is too large: {shortened(digits)}"
        )
    return number


def _refuse(constant: str) -> None:
    raise InvalidRequestError(
        f"Invalid request: the body is not valid JSON: {constant} is not a number"
    )


_DECODER = _Decoder()


def openapi_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema with its `$ref`s resolved, as the OpenAPI document lacks its `$defs`."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(item) for item in node]
        if not isinstance(node, dict):
            return node
        name = node.get("$ref", "").rpartition("/")[2]
        joined = {**parts.get(name, {}), **node}
        joined.pop("$ref", None)
        return {key: resolved(value) for key, value in joined.items()}

    return {key: resolved(value) for key, value in schema.items()}


def openapi_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a request body with a model's fields, in every encoding."""
    schema = model.model_json_schema()
    text = {"type": "string", "description": "The text; the other fields go in the query."}
    return {
        "requestBody": {
            "description": "The same fields may also be sent in the query.",
            "content": {
                JSON: {"schema": schema},
                FORM: {"schema": schema},
                MULTIPART: {"schema": schema},
                PLAIN: {"schema": text},
            },
        }
    }


def openapi_query(model: type[BaseModel], *lists: str) -> dict[str, Any]:
    """Return the OpenAPI description of a query with a model's fields; `lists` can be repeated."""
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

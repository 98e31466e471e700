"""The one table from errors to HTTP statuses, and the one shape of their answers."""

import logging
import math
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from service import errors

logger = logging.getLogger(__name__)

STATUSES: dict[type[errors.AttendantError], HTTPStatus] = {
    errors.InvalidRequestError: HTTPStatus.BAD_REQUEST,
    errors.RefusedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.QueueFullError: HTTPStatus.TOO_MANY_REQUESTS,
    errors.AbandonedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DeadlineExceededError: HTTPStatus.GATEWAY_TIMEOUT,
    errors.EngineError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.EngineDeadError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.AttendantError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
RETRY_AFTER_SECONDS = 1.0


def status_of(kind: type[errors.AttendantError]) -> HTTPStatus:
    """The status of the nearest class in the table."""
    return next(STATUSES[base] for base in kind.__mro__ if base in STATUSES)


def answer(status: int, message: str, code: str) -> JSONResponse:
    """`{"error", "code"}`, with Retry-After where it makes sense to come again."""
    headers = {}
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = str(math.ceil(RETRY_AFTER_SECONDS))
    return JSONResponse({"error": message, "code": code}, status, headers)


def install(app: FastAPI) -> None:
    """Answer every error of `app` in that shape."""

    @app.exception_handler(errors.AttendantError)
    async def of_ours(_: Request, error: errors.AttendantError) -> JSONResponse:
        status = status_of(type(error))
        message = f"Slowdown: {error}" if status == HTTPStatus.TOO_MANY_REQUESTS else str(error)
        return answer(status, message, error.code)

    @app.exception_handler(RequestValidationError)
    async def of_the_request(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(HTTPStatus.BAD_REQUEST, describe(error), "invalid_request")

    @app.exception_handler(HTTPException)
    async def of_http(_: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error.__cause__, UnicodeDecodeError):
            place = f"{error.__cause__.reason} at byte {error.__cause__.start}"
            message = f"Invalid request: the body is not valid UTF-8: {place}"
            return answer(error.status_code, message, "invalid_request")
        phrase = HTTPStatus(error.status_code).phrase
        return answer(error.status_code, str(error.detail), phrase.lower().replace(" ", "_"))

    @app.exception_handler(Exception)
    async def of_a_bug(_: Request, error: Exception) -> JSONResponse:
        logger.error("unexpected error", exc_info=error)
        return answer(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error", "internal_error")


# the body itself, and the branches of a union, which no client has heard of
_NOT_PLACES = ("body", "str", "list[str]", "function-after[_whole_characters(), str]")


def describe(error: RequestValidationError) -> str:
    """One line for the first thing that is wrong: where, what is expected, what was given."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        position = first["loc"][-1]
        return f"Invalid request: the body is not valid JSON: {first['ctx']['error']} at character {position}"
    place = ".".join(str(p) for p in first["loc"] if p not in _NOT_PLACES)
    if not place:
        return (
            "Invalid request: the body must be a JSON object, sent as content-type application/json"
        )
    given = repr(first.get("input"))
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    return f"Invalid request: {place} parameter: {first['msg']}, and is {shown}"

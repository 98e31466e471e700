"""The HTTP status of each error, and the answers for errors."""

import math
from http import HTTPMethod, HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from service import errors
from service.api.dialects import dialect_of
from service.api.validation import describe

ERROR_CODE = "error_code"
"""The key in a request's scope for the code of its first error, which is logged and counted."""
SENT_STATUS = "sent_status"
"""The key in a request's scope for the status that the connection sent instead of the application's."""
INTERNAL_ERROR = "internal error", "internal_error"
"""Message and code for an unexpected exception, which tell the client no details."""
CLIENT_LEFT = 499
"""Status for logs and metrics only, as in nginx: the client is no longer connected."""
STATUSES: dict[type[errors.AttendantError], int] = {
    errors.InvalidRequestError: HTTPStatus.BAD_REQUEST,
    errors.AccessError: HTTPStatus.FORBIDDEN,
    errors.MissingKeyError: HTTPStatus.UNAUTHORIZED,
    errors.RefusedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.QueueFullError: HTTPStatus.TOO_MANY_REQUESTS,
    errors.RateLimitError: HTTPStatus.TOO_MANY_REQUESTS,
    errors.AbandonedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ClientLeftError: CLIENT_LEFT,
    errors.DeadlineExceededError: HTTPStatus.GATEWAY_TIMEOUT,
    errors.EngineError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.EngineDeadError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.AttendantError: HTTPStatus.INTERNAL_SERVER_ERROR,
}


DESCRIPTIONS = {
    400: "The request is invalid.",
    401: "An API key is required.",
    403: "The API key is missing, unknown, or lacks the permission.",
    404: "Not found.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    429: "The service is busy, or the caller has exceeded its rate limit; see Retry-After.",
    500: "Internal error.",
    503: "The service is starting or stopping, or the engine or the model is not available.",
    504: "The deadline passed.",
}


class ErrorResponse(BaseModel):
    """The answer for every error, except under DeepL's paths."""

    error: Annotated[str, Field(description="A message for people; it may change.")]
    code: Annotated[str, Field(description="A stable code for programs.")]


class ErrorAnswer(JSONResponse):
    """The answer for an error, whose code is also stored in the request's scope."""

    def __init__(self, content: dict[str, str], status: int, code: str) -> None:
        """Create an answer with the JSON body `content`."""
        super().__init__(content, status)
        self.code = code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, and store the code unless the request has one."""
        scope.setdefault(ERROR_CODE, self.code)
        await super().__call__(scope, receive, send)


def documented(shape: type[BaseModel], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI `responses` for errors of these statuses, with `shape` as their body."""
    return {status: {"model": shape, "description": DESCRIPTIONS[status]} for status in statuses}


TRANSLATION_ERRORS = documented(ErrorResponse, 400, 401, 403, 408, 413, 429, 500, 503, 504)


def status_of(kind: type[errors.AttendantError]) -> int:
    """Return the status of the nearest base class in `STATUSES`."""
    return next(STATUSES[base] for base in kind.__mro__ if base in STATUSES)


def answer(
    status: int, message: str, code: str, retry_after: float | None = None, path: str = ""
) -> ErrorAnswer:
    """Return the answer for an error, with a body in the dialect of `path`.

    `Retry-After` is given with 429 and 503: `retry_after` seconds, rounded up, at least 1.
    """
    # it may quote an unpaired surrogate
    readable = message.encode(errors="backslashreplace").decode()
    response = ErrorAnswer(dialect_of(path).error(readable, code), status, code)
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        response.headers["Retry-After"] = str(max(1, math.ceil(retry_after or 1)))
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def answer_to(error: errors.AttendantError, path: str) -> ErrorAnswer:
    """Return the answer for one of our errors, with a status and a body in the dialect of `path`."""
    status = dialect_of(path).statuses.get(type(error)) or status_of(type(error))
    message = error.client_message
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        message = f"Slowdown: {message}"
    return answer(status, message, error.code, error.retry_after, path)


def identified(response: ErrorAnswer, scope: Scope) -> ErrorAnswer:
    """Add the request's id to an answer that does not pass through the middleware, and return it."""
    if identity := scope.get("request_id"):
        response.raw_headers += identifying(identity, scope["path"])
    return response


def identifying(identity: bytes, path: str) -> list[tuple[bytes, bytes]]:
    """Return the header fields with the request's id, as clients of the dialect of `path` expect them."""
    return [(field, identity) for field in dialect_of(path).request_id_fields]


def install(app: FastAPI) -> None:
    """Register the handlers for all exceptions of `app`."""

    @app.exception_handler(errors.AttendantError)
    async def of_ours(request: Request, error: errors.AttendantError) -> ErrorAnswer:
        if isinstance(error, errors.QueueFullError) and error.retry_after:
            # no deadline is later than this: all that waits now is done or abandoned by then
            settings = request.app.state.services.settings
            error.retry_after = min(error.retry_after, settings.request_timeout_seconds)
        return answer_to(error, request.scope["path"])

    @app.exception_handler(RequestValidationError)
    async def of_the_request(request: Request, error: RequestValidationError) -> ErrorAnswer:
        return answer(
            HTTPStatus.BAD_REQUEST, describe(error), "invalid_request", path=request.scope["path"]
        )

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> ErrorAnswer:
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        message, path = str(error.detail), request.scope["path"]
        if message == HTTPStatus.NOT_FOUND.phrase:  # no route
            message = f"Not Found: {shortened(path)} is not supported by this server"
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_methods(request))
            message = f"{message}: {shortened(request.method)} is not supported here, only {headers['Allow']}"
        response = answer(error.status_code, message, code, path=path)
        response.headers.update(headers)
        return response

    @app.exception_handler(Exception)
    async def of_a_bug(request: Request, _: Exception) -> ErrorAnswer:
        # starlette raises the exception again after the answer, and the server logs it
        return internal_error(request.scope)


def internal_error(scope: Scope) -> ErrorAnswer:
    """Return the answer for an unexpected exception."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    response = answer(status, *INTERNAL_ERROR, path=scope["path"])
    return identified(response, scope)


def _methods(request: Request) -> list[str]:
    """Return the methods that a path supports, from all of its routes."""
    methods = [
        method
        for method in HTTPMethod
        for route in request.app.routes
        if route.matches({**request.scope, "method": method})[0] is Match.FULL
    ]
    return sorted({*methods, HTTPMethod.HEAD} if HTTPMethod.GET in methods else methods)


def shortened(value: str) -> str:
    """Return a client's value as error messages quote it: 60 characters at most."""
    return value if len(value) <= 60 else f"{value[:57]}..."

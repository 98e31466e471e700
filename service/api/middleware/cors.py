"""Which web pages may call the service."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.api.errors import answer


class Cors(CORSMiddleware):
    """Starlette's, which says what it refuses in the shape of all other errors."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            headers = Headers(scope=scope)
            if "origin" in headers and "access-control-request-method" in headers:
                response = _in_our_shape(self.preflight_response(headers), scope["path"])
                await response(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def _in_our_shape(response: Response, path: str) -> Response:
    """The answer to a preflight; a refusal names what is not allowed."""
    if response.status_code < 400:
        return response
    reason = bytes(response.body).decode()
    refusal = answer(response.status_code, f"Invalid request: {reason}", "cors_refused", path=path)
    for name, value in response.headers.items():
        if name.startswith(("access-control-", "vary")):
            refusal.headers[name] = value
    return refusal

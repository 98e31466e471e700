"""What a request asks for, in the one form that the routes know."""

import re
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.errors import answer

_AUTHORITY = re.compile(r"https?://[^/]*", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
_BLOCKED = ("/admin", "/metrics")
_VERSIONS = ("1.0", "1.1")


class Targets:
    """Serves HEAD wherever GET is, absolute addresses (RFC 9112, section 3.2.2) and doubled slashes."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        version = scope.get("http_version", "1.1")
        if version not in _VERSIONS:
            message = f"HTTP/{version} is not supported, HTTP/1.1 is"
            status = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
            await answer(status, message, "http_version")(scope, receive, send)
            return
        path = _plain(scope["path"])
        if path != scope["path"]:
            raw = _plain(scope.get("raw_path", b"").decode("latin-1")).encode("latin-1")
            scope = {**scope, "path": path, "raw_path": raw}
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self.app({**scope, "method": "GET"}, receive, send_head)


def _plain(path: str) -> str:
    """A path without a host in front and without empty parts.

    >>> _plain("http://here:8000/translate"), _plain("//v2//usage"), _plain("http://here")
    ('/translate', '/v2/usage', '/')
    """
    if match := _AUTHORITY.match(path):
        path = path[match.end() :] or "/"
    plain = _SLASHES.sub("/", path)
    # what a proxy blocks by its path must have that path only
    return path if plain.startswith(_BLOCKED) else plain

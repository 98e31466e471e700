"""The request's target, in the normalised form that the routes expect."""

import re
from http import HTTPStatus
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.errors import answer

_AUTHORITY = re.compile(r"https?://[^/]*", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
_BLOCKED = ("/admin", "/metrics")
_NEEDLESS = re.compile(r"%(2[DEF]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)", re.IGNORECASE)
"""Letters, digits, `-._~` and the slash, percent-encoded: no client has to (RFC 3986, section 2.3)."""


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
        path, raw = _paths_of(scope)
        version = scope.get("http_version", "1.1")
        if not version.startswith("1."):  # a higher minor version is read as 1.1 (RFC 9110, 6.2)
            message = f"HTTP/{version} is not supported, HTTP/1.1 is"
            status = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
            refusal = answer(status, message, "http_version", path=path)
            refusal.headers["connection"] = "close"
            await refusal(scope, receive, send)
            return
        if path != scope["path"]:  # in its place, for those who are around this one, too
            scope["path"], scope["raw_path"] = path, raw.encode("latin-1")
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        scope["method"] = "GET"

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self.app(scope, receive, send_head)


def _paths_of(scope: Scope) -> tuple[str, str]:
    """The path that routes look at, and the same as it was encoded.

    Of what needs no percent-encoding and has it, no route knows the path: what a proxy blocks or limits by a
    path must have that path only.
    """
    raw = scope.get("raw_path")
    if not raw:
        return _plain(scope["path"]), ""
    plain = _plain(raw.decode("latin-1"))
    return plain if _NEEDLESS.search(plain) else unquote(plain), plain


def _plain(path: str) -> str:
    """A path without a host in front and without empty parts.

    >>> _plain("http://here:8000/translate"), _plain("//v2//usage"), _plain("http://here")
    ('/translate', '/v2/usage', '/')
    """
    if match := _AUTHORITY.match(path):
        path = path[match.end() :] or "/"
    plain = _SLASHES.sub("/", path)
    # what a proxy blocks has not even doubled slashes
    return path if plain.startswith(_BLOCKED) else plain

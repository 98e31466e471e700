"""Normalization of request targets to the paths that the routes expect."""

import re
from http import HTTPStatus
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.errors import answer

_AUTHORITY = re.compile(r"https?://[^/]*", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
_BLOCKED = ("/admin", "/metrics")
_WRONG = re.compile(
    r"%([01][0-9A-F]|2[DEF]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7[EF])", re.IGNORECASE
)
"""Percent-encoded letters, digits, `-._~` and slashes, which need no encoding (RFC 3986, section 2.3).

Control characters are in no path. The routes' patterns would match one with a line feed at its end.
"""


class Targets:
    """Supports HEAD on every GET route, absolute URLs (RFC 9112, section 3.2.2) and doubled slashes."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path, raw_path = _paths_of(scope)
        version = scope.get("http_version", "1.1")
        if not version.startswith("1."):  # a higher minor version is read as 1.1 (RFC 9110, 6.2)
            message = f"HTTP/{version} is not supported, HTTP/1.1 is"
            status = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
            refusal = answer(status, message, "http_version", path=path)
            refusal.headers["connection"] = "close"
            await refusal(scope, receive, send)
            return
        if path != scope["path"]:  # changed in place, so that outer middleware sees it, too
            scope["path"], scope["raw_path"] = path, raw_path.encode("latin-1")
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        scope["method"] = "GET"

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self.app(scope, receive, send_head)


def is_wrongly_encoded(path: str) -> bool:
    """Return whether a path has percent-encoded characters that need none, or that may not be in it."""
    return bool(_WRONG.search(path))


def _paths_of(scope: Scope) -> tuple[str, str]:
    """Return the path for routing, and its percent-encoded form.

    A path with needless percent-encoding stays encoded, so that no route matches it. Otherwise a client could
    reach a path by an encoding that a proxy's rules for this path do not match.
    """
    raw_path = scope.get("raw_path")
    if not raw_path:
        return _normalized(scope["path"]), ""
    normalized = _normalized(raw_path.decode("latin-1"))
    return normalized if is_wrongly_encoded(normalized) else unquote(normalized), normalized


def _normalized(path: str) -> str:
    """Return a path without scheme and host, and without empty segments.

    Paths that proxies usually block keep doubled slashes, so that no route matches them.

    >>> _normalized("http://here:8000/translate"), _normalized("//v2//usage"), _normalized("http://here")
    ('/translate', '/v2/usage', '/')
    """
    if match := _AUTHORITY.match(path):
        path = path[match.end() :] or "/"
    normalized = _SLASHES.sub("/", path)
    return path if normalized.startswith(_BLOCKED) else normalized

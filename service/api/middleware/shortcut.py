"""Plain requests for a translation go past what only others need."""

from starlette.types import ASGIApp, Receive, Scope, Send

PATHS = ("/translate", "/v2/translate")


class Shortcut:
    """Gives plain requests to `plain`, and all others to `app`."""

    def __init__(self, app: ASGIApp, plain: ASGIApp) -> None:
        """Choose between the two."""
        self.app, self.plain = app, plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        app = self.plain if scope["type"] == "http" and is_plain(scope) else self.app
        await app(scope, receive, send)


def is_plain(scope: Scope) -> bool:
    """Whether a request is a translation under its plain address, and no web page's.

    The answers to web pages say which pages may read them.
    """
    path: str = scope["path"]
    return (
        path in PATHS
        and scope["method"] == "POST"
        and scope.get("http_version", "1.1").startswith("1.")
        and len(scope.get("raw_path") or b"") == len(path)  # nothing of it is percent-encoded
        and b"origin" not in dict(scope["headers"])
    )

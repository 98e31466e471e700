"""Plain requests for a translation bypass middleware that only others need."""

from starlette.types import ASGIApp, Receive, Scope, Send

PATHS = ("/translate", "/v2/translate")


class Shortcut:
    """Passes plain requests to `plain`, and all others to `app`."""

    def __init__(self, app: ASGIApp, plain: ASGIApp) -> None:
        """Choose between `app` and `plain`."""
        self.app, self.plain = app, plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        app = self.plain if is_plain(scope) else self.app
        await app(scope, receive, send)


def is_plain(scope: Scope) -> bool:
    """Return whether a request is a POST to a translation path that needs no normalization and no CORS.

    Requests from web pages have an `Origin`, and their answers need CORS headers.
    """
    path: str = scope["path"]
    return (
        path in PATHS
        and scope["method"] == "POST"
        and scope.get("http_version", "1.1").startswith("1.")
        and len(scope.get("raw_path") or b"") == len(path)  # nothing is percent-encoded
        and b"origin" not in dict(scope["headers"])
    )

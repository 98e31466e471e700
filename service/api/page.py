"""Static pages, which run only their own code, contact no other host, and cannot be framed."""

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI, Request, Response

WEB = Path(__file__).parents[1] / "web"
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def install(app: FastAPI) -> None:
    """Serve the translation page at `/`."""
    html = (WEB / "index.html").read_text(encoding="utf-8")
    add(app, "/", html, "text/html", policy_of(html))


def add(app: FastAPI, path: str, content: str, media_type: str, policy: str = "") -> None:
    """Serve `content` for GET and HEAD of `path`; `Range` is ignored, as the standard allows."""
    app.add_api_route(
        path,
        _handler_of(content.encode(), media_type, policy or "default-src 'none'"),
        methods=["GET", "HEAD"],
        include_in_schema=False,
    )


def policy_of(html: str, *, files: bool = False) -> str:
    """Return a page's Content-Security-Policy: it allows its inline code, by hash, and calls to its own host.

    Args:
        html: the page, with LF line ends, which is what browsers hash.
        files: whether it also loads scripts, styles and images from its own host.
    """
    allowed: dict[str, list[str]] = {"script": [], "style": []}
    for kind, code in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        allowed[kind].append(f"'sha256-{digest}'")
    own_files = ["'self'"] if files else []
    directives = {
        "default-src": ["'none'"],
        "script-src": own_files + allowed["script"],
        "style-src": own_files + allowed["style"],
        "img-src": [*own_files, "data:"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


def _handler_of(
    body: bytes, media_type: str, policy: str
) -> Callable[[Request], Awaitable[Response]]:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {
        "Cache-Control": "no-cache",
        "ETag": tag,
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }

    async def answer(request: Request) -> Response:
        cached_tags = request.headers.get("if-none-match", "")
        if cached_tags.strip() == "*" or tag in re.findall(r'"[^"]*"', cached_tags):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media_type)

    return answer

"""Requests to an ASGI application without a server."""

import asyncio
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope


async def ask(
    app: ASGIApp,
    fields: Scope,
    size: int = 0,
    complete: bool = True,
    receive: Receive | None = None,
) -> tuple[int, bytes]:
    """Send a request with a body of `size` bytes, and return the status and body of the answer.

    The body is sent in two pieces; if it is not `complete`, only the first one is.
    """
    pieces = [b"a" * (size // 2), b"a" * (size - size // 2)]
    sent: list[Message] = []

    async def from_pieces() -> Message:
        if len(pieces) == 1 and not complete:
            await asyncio.sleep(10)
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    path = str(fields.get("path", "/"))
    scope = {
        "type": "http",
        "method": "POST" if size else "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        **{name: value for name, value in fields.items() if name != "path"},
    }
    await app(scope, receive or from_pieces, send)
    return (sent[0]["status"], sent[1].get("body", b"")) if sent else (0, b"")

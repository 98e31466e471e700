"""Which requests bypass middleware that only others need."""

import asyncio

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.middleware.shortcut import Shortcut
from tests.service.api.asgi import ask


def named(name: bytes) -> ASGIApp:
    """Return an application that answers with its name."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": name})

    return app


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"path": "/translate"}, b"plain"),
        ({"path": "/v2/translate"}, b"plain"),
        ({"path": "/translate", "headers": [(b"origin", b"https://here.test")]}, b"all"),
        ({"path": "/translate", "method": "OPTIONS"}, b"all"),
        ({"path": "/translate", "http_version": "2.0"}, b"all"),
        ({"path": "/%74ranslate"}, b"all"),
        ({"path": "//translate"}, b"all"),
        ({"path": "/translate", "raw_path": None}, b"all"),
        ({"path": "/languages"}, b"all"),
    ],
)
def test_only_plain_translations_take_the_shortcut(fields: Scope, expected: bytes) -> None:
    shortcut = Shortcut(named(b"all"), named(b"plain"))
    assert asyncio.run(ask(shortcut, fields, size=1)) == (200, expected)

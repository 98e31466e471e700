"""Raw conversations with a server that uses our `Connection` and a test application."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial

import uvicorn
from starlette.types import Receive, Scope, Send

from service.api import client_state, connection
from service.api.connections import Connections
from service.api.middleware.early import EarlyRefusal

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]
HEAD = b"GET / HTTP/1.1\r\nhost: here\r\n"
POST = b"POST / HTTP/1.1\r\nhost: here\r\n"
PIECE = b"a" * 100_000
SLOW_SECONDS = 0.5
"""Duration of an answer at `/slow`."""


_events: list[asyncio.Event] = []
left: list[str] = []
"""Paths of requests whose client left before the answer."""


def may_answer() -> asyncio.Event:
    """Return the event for which answers at `/patient` wait."""
    return _events[0]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the request's body and "ok"; some paths behave differently."""
    if scope["path"] == "/hasty":  # answers before it reads the body
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b"ok"})
        return
    if scope["path"] == "/endless":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        watcher = asyncio.ensure_future(until_left(receive))
        while not watcher.done():
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            await asyncio.sleep(0)
        left.append(scope["path"])
        return
    if scope["path"] == "/patient":  # answers after `may_answer` is set or its client leaves
        waits = [asyncio.ensure_future(one) for one in (until_left(receive), may_answer().wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if waits[0].done():
            left.append(scope["path"])
        for wait in waits:
            wait.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b"ok"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await scope[client_state.KEY].wait_for_turn()
    await asyncio.sleep(SLOW_SECONDS if scope["path"] == "/slow" else 0)
    fields = [(b"content-length", b"%d" % (len(body) + 2))]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": body + b"ok"})


LENGTH = [(b"content-length", b"2")]


async def until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def talk(
    conversation: Callable[[Connect], Awaitable[None]],
    connections: Connections | None = None,
    keep_alive_seconds: int = 1,
    early_refusal: EarlyRefusal | None = None,
) -> None:
    """Run a conversation, which can open connections to a server that runs meanwhile."""
    left.clear()

    async def serve() -> None:
        _events[:] = [asyncio.Event()]
        config = uvicorn.Config(
            app,
            port=0,
            http=partial(  # type: ignore[arg-type]
                connection.Connection,
                connections=connections,
                early_refusal=early_refusal,
                max_head_bytes=5000,
            ),
            lifespan="off",
            log_config=None,
            timeout_keep_alive=keep_alive_seconds,
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        address = server.servers[0].sockets[0].getsockname()
        writers: list[asyncio.StreamWriter] = []

        async def connect() -> Streams:
            reader, writer = await asyncio.open_connection(*address)
            writers.append(writer)
            return reader, writer

        try:
            await asyncio.wait_for(conversation(connect), 60)
        finally:
            for writer in writers:
                writer.close()
            server.should_exit = True
            await serving

    asyncio.run(serve())


async def refusal(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, str]]:
    """Return the status and JSON of an answer, after which the server must close the connection."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return head.split()[1], json.loads(body)

"""Server-sent events: each sentence as soon as it is translated, then the whole answer."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.api import client_state
from service.api.client_state import ClientState
from service.api.dependencies import unless_client_leaves
from service.api.errors import ERROR_CODE, INTERNAL_ERROR
from service.api.middleware.admission import release
from service.errors import AttendantError
from service.translation.types import Done, Event, Translation

EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Headers that keep proxies, nginx in particular, from buffering events."""


class EventStream(StreamingResponse):
    """A stream whose generators are closed when the client leaves, not only by garbage collection."""

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        written: AsyncGenerator[str, None],
        sent: AsyncGenerator[bytes, None],
    ) -> None:
        """Create the answer from the `events` of a translation, their text form, and what is sent of it."""
        super().__init__(sent, media_type=EVENT_STREAM, headers=HEADERS)
        self._generators = sent, written, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the client leaves.

        Starlette would cancel this then, and the traceback would keep what was sent in memory for a while.
        """
        if client_state.KEY in scope:
            await self.stream_response(send)
        else:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the events, then close the generators."""
        try:
            await super().stream_response(send)
        finally:
            for generator in self._generators:
                await generator.aclose()


async def streamed(
    request: Request,
    events: AsyncGenerator[Event, None],
    finished: Callable[[list[Translation]], Awaitable[str]],
) -> StreamingResponse:
    """Return a stream of events, once the first one is known.

    The events are `segment`, with `text` and `segment` (numbers from 0), `source` and `target`, in the order
    in which sentences are finished; at the end `done`, with the JSON of a normal answer, or `error`, with the
    JSON of a normal error. A client that leaves cancels the work. A client that reads slowly neither slows it
    down nor keeps a model loaded.

    Args:
        request: the request, whose client may leave before the first event.
        events: the events of a translation, which does not wait for their consumer; see `ModelSet.stream`.
        finished: returns the JSON of the normal answer.

    Raises:
        AttendantError: the translation failed before the first sentence was finished.
    """
    first = await unless_client_leaves(request, anext(events))
    written = _written(request, first, events, finished)
    client: ClientState = request.scope.get(client_state.KEY) or ClientState()
    sent = _ahead(written, client, partial(release, request.scope))
    return EventStream(events, written, sent)


async def _written(
    request: Request,
    first: Event,
    events: AsyncGenerator[Event, None],
    finished: Callable[[list[Translation]], Awaitable[str]],
) -> AsyncGenerator[str, None]:
    async def write(event: Event) -> str:
        if isinstance(event, Done):
            return _event("done", await finished(event.translations))
        indices = {"text": event.text, "segment": event.segment}
        texts = {"source": event.source, "target": event.target}
        return _event("segment", _json({**indices, **texts}))

    try:
        yield await write(first)
        async for event in events:
            yield await write(event)
    except AttendantError as error:
        request.scope.setdefault(ERROR_CODE, error.code)
        yield error_event(error.client_message, error.code)
    except Exception:
        yield error_event(*INTERNAL_ERROR)
        raise


async def _ahead(
    written: AsyncGenerator[str, None], client: ClientState, on_end: Callable[[], None]
) -> AsyncGenerator[bytes, None]:
    """Yield what is written, until the client leaves; what it has yet to read counts as held.

    `on_end` is called when all is written, though not sent.
    """
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue()
    client.when_left(partial(waiting.put_nowait, None))

    async def write() -> None:
        try:
            async for text in written:
                data = text.encode()
                client.num_held += len(data)
                waiting.put_nowait(data)
        finally:
            on_end()
            waiting.put_nowait(None)

    task = asyncio.ensure_future(write())
    try:
        while (data := await waiting.get()) is not None:
            client.num_held -= len(data)
            yield data
        if not client.has_left:
            await task  # for its error
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def error_event(message: str, code: str) -> str:
    """Return the event that ends a stream with an error."""
    return _event("error", _json({"error": message, "code": code}))


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"

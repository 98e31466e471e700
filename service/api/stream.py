"""Answers as server-sent events: each sentence as soon as it is translated, then the whole answer."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Send

from service.api.dependencies import unless_client_leaves
from service.api.errors import ERROR_CODE
from service.errors import AttendantError
from service.translation.types import Done, Event, Translation

EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""So that nothing on the way, nginx above all, keeps events back."""


class EventStream(StreamingResponse):
    """Ends the work when the client leaves, and not when the generators are next collected as garbage."""

    def __init__(
        self, events: AsyncGenerator[Event, None], written: AsyncGenerator[str, None]
    ) -> None:
        """What the work gives out, and the same as it is written."""
        super().__init__(written, media_type=EVENT_STREAM, headers=HEADERS)
        self._generators = written, events

    async def stream_response(self, send: Send) -> None:
        """See StreamingResponse."""
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
    """Answer once there is something to say.

    Events: `segment` with `text` and `segment` (both counted from 0), `source` and `target`, in the order in
    which they are done; at the end `done` with what the plain answer would be, or `error` with what its error
    would be. Who goes away cancels the work; who reads slowly does not hold it up, nor keeps a model loaded.

    Args:
        request: of a client that may leave before the first event.
        events: work that goes on by itself; see `ModelSet.stream`.
        finished: writes the plain answer of the whole, as JSON.

    Raises:
        AttendantError: what went wrong before the first sentence was done.
    """
    first = await unless_client_leaves(request, anext(events))
    return EventStream(events, _written(request, first, events, finished))


async def _written(
    request: Request,
    first: Event,
    events: AsyncGenerator[Event, None],
    finished: Callable[[list[Translation]], Awaitable[str]],
) -> AsyncGenerator[str, None]:
    async def write(event: Event) -> str:
        if isinstance(event, Done):
            return _event("done", await finished(event.translations))
        where = {"text": event.text, "segment": event.segment}
        both = {"source": event.source, "target": event.target}
        return _event("segment", _json({**where, **both}))

    try:
        yield await write(first)
        async for event in events:
            yield await write(event)
    except AttendantError as error:
        request.scope.setdefault(ERROR_CODE, error.code)
        yield error_event(error.client_message, error.code)


def error_event(message: str, code: str) -> str:
    """What ends a stream of which no more will come."""
    return _event("error", _json({"error": message, "code": code}))


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"

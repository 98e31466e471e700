"""Answers as server-sent events: every sentence as soon as it is done, then the whole."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from service.api.dependencies import unless_client_leaves
from service.errors import AttendantError
from service.translation.types import OnSentence, Translation

EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""So that nothing on the way, nginx above all, keeps events back."""
Work = Callable[[OnSentence], Coroutine[Any, Any, list[Translation]]]


async def streamed(
    request: Request, work: Work, finished: Callable[[list[Translation]], dict[str, Any]]
) -> StreamingResponse:
    """Begin the work, and answer once there is something to say.

    Events: `segment` with `text` and `segment` (both counted from 0), `source` and `target`, in the order in
    which they are done; at the end `done` with what the plain answer would be, or `error` with what its error
    would be. Who goes away cancels the work.

    Raises:
        AttendantError: what went wrong before the first sentence was done.
    """
    events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()

    def on_sentence(text: int, segment: int, source: str, target: str) -> None:
        found = {"text": text, "segment": segment, "source": source, "target": target}
        events.put_nowait(("segment", found))

    task = asyncio.ensure_future(work(on_sentence))
    first = asyncio.ensure_future(events.get())
    try:
        await unless_client_leaves(request, _first_of(task, first))
        if task.done():
            task.result()  # raises while a status can still be told
    except BaseException:
        task.cancel()
        first.cancel()
        raise
    generator = _events(task, first, events, finished)
    return StreamingResponse(generator, media_type=EVENT_STREAM, headers=HEADERS)


async def _first_of(*tasks: "asyncio.Task[Any]") -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _events(
    task: "asyncio.Task[list[Translation]]",
    waiting: "asyncio.Task[tuple[str, dict[str, Any]]]",
    events: "asyncio.Queue[tuple[str, dict[str, Any]]]",
    finished: Callable[[list[Translation]], dict[str, Any]],
) -> AsyncIterator[str]:
    try:
        while not task.done() or waiting.done() or not events.empty():
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield _event(*waiting.result())
                waiting = asyncio.ensure_future(events.get())
                await asyncio.sleep(0)  # so that it takes what is there already
        try:
            yield _event("done", finished(task.result()))
        except AttendantError as error:
            yield error_event(error.client_message, error.code)
    finally:
        task.cancel()
        waiting.cancel()


def error_event(message: str, code: str) -> str:
    """What ends a stream of which no more will come."""
    return _event("error", {"error": message, "code": code})


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

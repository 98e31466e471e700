"""Dependencies of the handlers: the parts of the running service, and cancellation when a client disconnects.

The functions that FastAPI calls are `async`, because it would run plain functions in another thread.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from service.api import client_state
from service.api.access import Gate
from service.api.client_state import ClientState
from service.errors import ClientLeftError, NotReadyError, NotTranslatedError
from service.metrics import Metrics
from service.models.model_set import ModelSet
from service.models.model_store import ModelStore
from service.settings import Settings
from service.threads import Threads
from service.translation.types import Translation

PREFIX = "Invalid request: "
"""The beginning of every message about an invalid request."""
Result = TypeVar("Result")


async def unless_client_leaves(request: Request, work: Awaitable[Result]) -> Result:
    """Return the result of `work`, which is cancelled if the client closes its connection.

    Raises:
        ClientLeftError: the client closed its connection before `work` was done.
    """
    task, is_working, has_left = asyncio.current_task(), True, False
    assert task is not None

    def leave() -> None:
        nonlocal has_left
        if is_working:
            has_left = True
            task.cancel()

    stop = _watch(request, leave)
    try:
        try:
            return await work
        finally:
            if has_left:  # if `work` never waited, deliver the cancellation here, not to later code
                await asyncio.sleep(0)
    except asyncio.CancelledError:
        if has_left and task.uncancel() == 0:  # not cancelled for another reason as well
            raise ClientLeftError("the client closed its connection") from None
        raise
    finally:
        is_working = False
        stop()


def _watch(request: Request, leave: Callable[[], None]) -> Callable[[], object]:
    """Call `leave` when the client disconnects; return a function that stops the watching."""
    client: ClientState | None = request.scope.get(client_state.KEY)
    if client is not None:
        client.when_left(leave)
        return bool
    # other ASGI servers report it by `receive` only, which takes a task

    def on_end(watcher: "asyncio.Task[None]") -> None:
        if not watcher.cancelled():
            leave()

    watcher = asyncio.ensure_future(_until_disconnected(request))
    watcher.add_done_callback(on_end)
    return watcher.cancel


def seconds_left(request: Request, timeout: float) -> float:
    """Return what is left of a time limit after a complete request has waited to begin."""
    client: ClientState | None = request.scope.get(client_state.KEY)
    return timeout if client is None else max(0.0, timeout - client.seconds_in_line)


def all_translated(translations: list[Translation]) -> list[Translation]:
    """Return the same translations, for answers that cannot report a text that was not translated.

    Raises:
        TextTooLongError: a text cannot be translated.
        NotTranslatedError: no translation of a text was found.
    """
    for number, translation in enumerate(translations):
        if translation.error or translation.is_copied:
            kind = type(translation.error) if translation.error else NotTranslatedError
            reason = translation.first_problem.removeprefix(PREFIX)
            raise kind(f"{PREFIX}text {number}: {reason}")
    return translations


async def _until_disconnected(request: Request) -> None:
    """Return when the client has disconnected; the body must have been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a running service."""

    store: ModelStore
    gate: Gate
    settings: Settings
    metrics: Metrics
    threads: Threads
    """For work that would block the event loop."""
    deepl_usage: Counter[str] = field(default_factory=Counter)
    """Characters translated in DeepL's dialect since the start, by the name of the key; "" without one."""

    @property
    def models(self) -> ModelSet:
        """The current models, for a request that began when the service was ready: it may be stopping since.

        Raises:
            NotReadyError: the service has stopped.
        """
        if (models := self.store.current) is None:
            raise NotReadyError("the service has stopped")
        return models


def services(request: Request) -> Services:
    """Return the parts of the service, which must be ready; called by the handlers of a `PlainRoute`.

    Raises:
        NotReadyError: the models are still being loaded, or the service is stopping.
    """
    parts: Services = request.app.state.services
    parts.store.get()
    return parts


async def _services(request: Request) -> Services:
    """Return the parts of the service, whether it is ready or not."""
    parts: Services = request.app.state.services
    return parts


async def _models(request: Request) -> ModelSet:
    """Return the current models.

    Raises:
        NotReadyError: the models are still being loaded, or the service is stopping.
    """
    return (await _services(request)).store.get()


class PlainRoute(APIRoute):
    """A route whose handler takes a request and returns a response; FastAPI only documents it.

    Used for translations, for which FastAPI's own processing would double the cost of the HTTP layer.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler itself."""
        return self.endpoint


ServicesDependency = Annotated[Services, Depends(_services)]
ModelsDependency = Annotated[ModelSet, Depends(_models)]

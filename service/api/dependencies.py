"""Dependencies of the handlers: the parts of the running service, and the watch for clients that disconnect.

Those that the framework calls are `async`: it would run a plain function in another thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from service.api import client_state
from service.api.access import Gate
from service.api.client_state import ClientState
from service.errors import ClientLeftError, TextTooLongError
from service.metrics import Metrics
from service.models.model_set import ModelSet
from service.models.model_store import ModelStore
from service.settings import Settings
from service.translation.types import Translation

PREFIX = "Invalid request: "
"""Of every error that tells what is wrong with a request."""
Result = TypeVar("Result")


async def unless_client_leaves(request: Request, work: Awaitable[Result]) -> Result:
    """The result of `work`, which is cancelled when the client closes its connection.

    Raises:
        ClientLeftError: it did.
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
            if has_left:  # before work that never waits: cancel it here, not what comes later
                await asyncio.sleep(0)
    except asyncio.CancelledError:
        if has_left and task.uncancel() == 0:  # nobody else cancelled it
            raise ClientLeftError("the client closed its connection") from None
        raise
    finally:
        is_working = False
        stop()


def _watch(request: Request, leave: Callable[[], None]) -> Callable[[], object]:
    """Have `leave` called when the client is gone; returns what ends that."""
    client: ClientState | None = request.scope.get(client_state.KEY)
    if client is not None:
        client.when_left(leave)
        return bool
    # another server's: it must be asked, which takes a task

    def on_end(watcher: "asyncio.Task[None]") -> None:
        if not watcher.cancelled():
            leave()

    watcher = asyncio.ensure_future(_until_disconnected(request))
    watcher.add_done_callback(on_end)
    return watcher.cancel


def all_translated(translations: list[Translation]) -> list[Translation]:
    """The same translations, for an answer that has no place for why a text is left as it is.

    Raises:
        TextTooLongError: one is.
    """
    for number, translation in enumerate(translations):
        if translation.problem:
            reason = translation.problem.removeprefix(PREFIX)
            raise TextTooLongError(f"{PREFIX}text {number}: {reason}")
    return translations


async def _until_disconnected(request: Request) -> None:
    """Return when the client is gone; the body has been read, so nothing else can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a running service."""

    store: ModelStore
    gate: Gate
    settings: Settings
    metrics: Metrics

    @property
    def models(self) -> ModelSet:
        """Those that serve now.

        Raises:
            NotReadyError: they are being loaded, or the service is stopping.
        """
        return self.store.get()


def services(request: Request) -> Services:
    """The parts of a service that is ready.

    Handlers of a `PlainRoute` call it themselves.

    Raises:
        NotReadyError: they are being loaded, or the service is stopping.
    """
    parts: Services = request.app.state.services
    parts.store.get()
    return parts


async def _services(request: Request) -> Services:
    """The parts of a service, whether it is ready or not."""
    parts: Services = request.app.state.services
    return parts


async def _models(request: Request) -> ModelSet:
    """The models that serve now.

    Raises:
        NotReadyError: they are being loaded, or the service is stopping.
    """
    return (await _services(request)).models


class PlainRoute(APIRoute):
    """A route whose handler takes a request and returns the answer: the framework only documents it.

    Those that translate are of this kind: the framework's share would cost as much as all the rest of theirs.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler itself."""
        return self.endpoint


ServicesDependency = Annotated[Services, Depends(_services)]
ModelsDependency = Annotated[ModelSet, Depends(_models)]

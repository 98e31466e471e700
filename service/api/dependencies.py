"""What handlers are given: the parts of the running service, and the watch over their client.

All of it is `async`: the framework would take every plain function to another thread and back.
"""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from service.api.access import Gate
from service.errors import CancelledError
from service.metrics import Metrics
from service.model_set import ModelSet
from service.model_store import ModelStore
from service.settings import Settings

Result = TypeVar("Result")


async def store(request: Request) -> ModelStore:
    """Where the models are."""
    chosen: ModelStore = request.app.state.models
    return chosen


async def loaded_models(request: Request) -> ModelSet:
    """The models that serve now.

    Raises:
        NotReadyError: they are being loaded, or the service is stopping.
    """
    return (await store(request)).get()


async def gate(request: Request) -> Gate:
    """What lets callers in."""
    chosen: Gate = request.app.state.gate
    return chosen


async def settings(request: Request) -> Settings:
    """The operator's settings."""
    chosen: Settings = request.app.state.settings
    return chosen


async def metrics(request: Request) -> Metrics:
    """The service's metrics."""
    registered: Metrics = request.app.state.metrics
    return registered


async def unless_client_leaves(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, which is cancelled when the client closes its connection.

    Raises:
        CancelledError: the client left.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(_until_disconnected(request))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise CancelledError("the client closed its connection")
    finally:
        task.cancel()
        watcher.cancel()


async def _until_disconnected(request: Request) -> None:
    """Return when the client is gone; the body has been read, so nothing else can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


StoreDependency = Annotated[ModelStore, Depends(store)]
ModelsDependency = Annotated[ModelSet, Depends(loaded_models)]
GateDependency = Annotated[Gate, Depends(gate)]
SettingsDependency = Annotated[Settings, Depends(settings)]
MetricsDependency = Annotated[Metrics, Depends(metrics)]

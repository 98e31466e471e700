"""A bundle that is loaded when it is needed."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from service.errors import DeadlineExceededError
from service.models.bundle import Bundle
from service.models.loading import ServedModel

if TYPE_CHECKING:
    from service.models.pool import ModelPool

State = Literal["loaded", "unloaded", "failed"]
GROWTH = 2.0
"""What a model takes of memory over the size of its files, until it has been loaded once."""


class PooledModel:
    """A bundle of a pool: always described, and loaded while it is needed."""

    def __init__(self, bundle: Bundle, pool: "ModelPool") -> None:
        """Not loaded yet."""
        self.bundle, self.pool = bundle, pool
        self.loaded: ServedModel | None = None
        self.users = 0
        """Requests that it serves; while there are any, it stays loaded."""
        self.used_at = 0.0
        self.is_leaving = False
        """Whether it is unloaded once nobody uses it; whoever comes waits until it is loaded anew."""
        self.is_removed = False
        """Whether new requests do not ask for it; for those that still do, it is loaded once more."""
        self.waiting: list[Future[ServedModel]] = []
        self.failure = ""
        """Why it could not be loaded, for clients."""
        self.retry_at = 0.0
        self.bytes = round(GROWTH * sum(_size(bundle, name) for name in bundle.manifest.files))
        """That loading it is expected to take of memory: as much as it took last time."""

    @property
    def state(self) -> State:
        """Whether it is loaded, or could not be."""
        if self.loaded is not None:
            return "loaded"
        return "failed" if self.failure else "unloaded"

    @asynccontextmanager
    async def lease(self, timeout: float) -> AsyncIterator[ServedModel]:
        """The loaded model, which stays loaded for the length of the block.

        Raises:
            DeadlineExceededError: it was not loaded within `timeout` seconds.
            ModelUnavailableError: it cannot be loaded.
            NotReadyError: the service is stopping.
        """
        asked = self.pool.ask(self)
        try:
            try:
                async with asyncio.timeout(timeout):
                    model = asked.result() if asked.done() else await asyncio.wrap_future(asked)
            except TimeoutError:
                name = self.bundle.manifest.name
                raise DeadlineExceededError(
                    f"{name} was not loaded within the deadline of {timeout:g} s"
                ) from None
            yield model
        finally:
            self.pool.give_back(self, asked)


def _size(bundle: Bundle, name: str) -> int:
    """Of one of its files; 0 where it is not there, which is told when it is loaded."""
    try:
        return (bundle.folder / name).stat().st_size
    except OSError:
        return 0

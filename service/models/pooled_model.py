"""A model of a pool, which is loaded on demand."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from service.errors import DeadlineExceededError
from service.models.bundle import Bundle
from service.models.loading import ServedModel
from service.models.proof import StuckError

if TYPE_CHECKING:
    from service.models.pool import ModelPool

State = Literal["loaded", "unloaded", "failed"]
GROWTH = 2.0
"""Estimated ratio of a model's memory to the size of its files, used until it has been loaded once."""


class PooledModel:
    """A bundle whose manifest is always known, and whose model is loaded while it is needed."""

    def __init__(self, bundle: Bundle, pool: "ModelPool") -> None:
        """Not loaded yet."""
        self.bundle, self.pool = bundle, pool
        self.loaded: ServedModel | None = None
        self.users = 0
        """Number of requests that use the model, which stays loaded for them."""
        self.used_at = 0.0
        self.is_leaving = False
        """Whether the model is about to be unloaded: new requests wait until it is loaded again."""
        self.is_removed = False
        """Whether the bundle is no longer in the folder. Older requests may still have it loaded."""
        self.waiting: dict[Future[ServedModel], None] = {}
        """The requests that wait for the model, in order."""
        self.failure = ""
        """Why it could not be loaded the last time, for clients; empty if it could, or was not tried yet."""
        self.stuck: StuckError | None = None
        """What did not end in time when it was last loaded, and may still take a core and memory."""
        self.retry_at = 0.0
        """When a request may cause another attempt, by the pool's clock, in seconds."""
        self.bytes = round(GROWTH * sum(_size(bundle, name) for name in bundle.manifest.files))
        """Memory that loading is expected to take: as much as last time."""

    def failed(self, failure: str, retry_at: float, cause: BaseException | None) -> None:
        """Record why the model could not be loaded, and when a request may try again."""
        self.failure, self.retry_at = failure, retry_at
        # the traceback would keep the failed model in memory
        self.stuck = cause.with_traceback(None) if isinstance(cause, StuckError) else None

    @property
    def refusal(self) -> str:
        """Why requests are refused: `failure`; empty once one of them may cause another attempt.

        There is no attempt while a thread of the last one is stuck. Readiness depends on this, not on
        `failure`: no request would come to a service that is not ready.
        """
        return self.failure if self.is_stuck or self.pool.clock() < self.retry_at else ""

    @property
    def is_stuck(self) -> bool:
        """Whether the last attempt to load the model has failed, but still goes on."""
        stuck = self.stuck
        return stuck is not None and not stuck.has_ended()

    @property
    def may_be_tried_anew(self) -> bool:
        """Whether a reload makes another attempt possible."""
        return self.state == "failed" and not self.is_stuck

    @property
    def state(self) -> State:
        """Whether the model is loaded, is not, or could not be loaded the last time."""
        if self.loaded is not None:
            return "loaded"
        return "failed" if self.failure else "unloaded"

    @property
    def is_needed(self) -> bool:
        """Whether the model is loaded, or has to be. To be read while holding the pool's lock."""
        return self.loaded is not None or self.is_leaving or bool(self.waiting)

    @asynccontextmanager
    async def lease(self, timeout: float) -> AsyncIterator[ServedModel]:
        """Load the model if necessary, and keep it loaded during the `async with` block.

        Raises:
            DeadlineExceededError: the model was not loaded within `timeout` seconds.
            ModelUnavailableError: the model cannot be loaded.
            NotReadyError: the service is stopping.
        """
        future = self.pool.ask(self)
        try:
            try:
                async with asyncio.timeout(timeout):
                    model = future.result() if future.done() else await asyncio.wrap_future(future)
            except TimeoutError:
                name = self.bundle.manifest.name
                raise DeadlineExceededError(
                    f"{name} was not loaded within the deadline of {timeout:g} s"
                ) from None
            yield model
        finally:
            self.pool.give_back(self, future)


def _size(bundle: Bundle, name: str) -> int:
    """Return the size of a file; 0 if it is missing, which loading the bundle reports."""
    try:
        return (bundle.folder / name).stat().st_size
    except OSError:
        return 0

"""The application: parts put together at start-up, and taken apart, in order, when it stops."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from service.api import errors, health, routes
from service.api.middleware import BodyLimit, RequestContext
from service.metrics import Metrics
from service.serving import start_model
from service.settings import Settings

logger = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """Build the application; the model is loaded when it starts.

    Raises:
        BundleError: at start-up, if the bundle cannot be served.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        model = await asyncio.to_thread(start_model, settings.bundle, settings, app.state.metrics)
        app.state.model = model
        yield
        app.state.model = None
        if not await asyncio.to_thread(model.engine.drain, settings.drain_seconds):
            logger.warning("%d sentences were not done in time", model.engine.num_running)
        await asyncio.to_thread(model.engine.close)

    app = FastAPI(
        title="Attendant",
        description="Translation as a service.",
        version="0.1.0",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.settings, app.state.model, app.state.metrics = settings, None, Metrics()
    app.include_router(routes.router)
    app.include_router(health.router)
    errors.install(app)
    app.add_middleware(BodyLimit, limit=settings.max_body_bytes)
    app.add_middleware(RequestContext, metrics=app.state.metrics)
    return app

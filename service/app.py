"""Builds the application from its parts, and starts and stops them."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from service import watch
from service.api import admin, docs, errors, health, inputs, page, tracing
from service.api.access import Gate
from service.api.deepl import languages as deepl_languages
from service.api.deepl import routes as deepl
from service.api.dependencies import Services
from service.api.inference import infer
from service.api.inference import metadata as inference
from service.api.middleware.admission import Admission, AdmissionCheck, InFlightLimit
from service.api.middleware.context import AccessLog, RequestContext
from service.api.middleware.cors import Cors
from service.api.middleware.direct import Direct
from service.api.middleware.early import EarlyRefusal
from service.api.middleware.keys import KeyCheck
from service.api.middleware.limits import BodyLimit, HeadLimit
from service.api.middleware.shortcut import Shortcut
from service.api.middleware.split_bodies import SplitBodies
from service.api.middleware.targets import Targets
from service.api.native import routes as native
from service.engine.process_memory import RestingTrimmer
from service.errors import AttendantError, reason
from service.metrics import Metrics
from service.models import language_detection
from service.models.model_store import ModelStore
from service.settings import Settings
from service.threads import Threads

logger = logging.getLogger(__name__)

ROUTERS = (
    *(native.translating, native.router),
    *(deepl.translating, deepl.router, deepl_languages.router),
    *(health.router, inference.router, infer.router, admin.router),
)
NUM_THREADS = 4
"""For a load, the end of the models, and work of requests that would block the event loop."""
WATCH_SECONDS = 1.0
"""Interval between checks of what works in the background."""


def create_app(settings: Settings, on_failure: Callable[[str], None] = lambda _: None) -> FastAPI:
    """Build the application. It answers at once, and becomes ready when the models are loaded.

    Args:
        settings: the operator's settings.
        on_failure: called once, with the reason, if the service cannot work any more: a bundle could not be
            loaded at startup, or an engine has stopped.

    Raises:
        KeysError: the file of API keys is invalid.
        ThreadError: the threads could not be started.
        TracingError: tracing is on, but its packages are missing or its variables invalid.
    """
    metrics = Metrics()
    store = ModelStore(settings, metrics, settings.drain_seconds)
    metrics.watch(lambda: store.current)
    threads = Threads(NUM_THREADS, "service")
    for pool in (threads, inputs.PARSER, language_detection.THREAD):
        pool.start()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work = asyncio.create_task(_load_and_watch(store, threads, on_failure))
        with _reloading_on_hangup(store, threads):
            yield
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await asyncio.get_running_loop().run_in_executor(threads, store.stop)

    app = FastAPI(
        title="Attendant",
        description="Translation as a service.",
        version=health.VERSION,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        telemetry=tracing.FASTAPI_TELEMETRY,
        redirect_slashes=False,  # a redirect would repeat a host name that the client chose
    )
    app.state.services = services = Services(store, Gate(settings), settings, metrics, threads)
    _add_routes(app, settings)
    _add_middleware(app, services)
    if settings.tracing:
        tracing.install(app)
    return app


def _add_routes(app: FastAPI, settings: Settings) -> None:
    """Add the endpoints of all dialects, the pages, and what answers errors."""
    for router in ROUTERS:
        app.include_router(router)
    page.install(app)
    if settings.docs:
        docs.install(app)
    errors.install(app)


def _add_middleware(app: FastAPI, services: Services) -> None:
    """Add all middleware as one layer, whose order `layers` shows."""
    settings, metrics, store = services.settings, services.metrics, services.store
    admission = Admission(
        settings.max_requests,
        settings.request_timeout_seconds,
        lambda: None if settings.cached_sentences else store.shortest_wait,
        lambda: store.expected_wait,
    )

    routes = [route for router in ROUTERS for route in router.routes]

    def layers(framework: ASGIApp) -> ASGIApp:  # from the inside out
        counted = InFlightLimit(Direct(framework, routes), admission)
        limited = BodyLimit(counted, settings.max_body_bytes, settings.max_held_body_bytes)
        admitted = AdmissionCheck(KeyCheck(limited, services.gate), admission)
        plain = SplitBodies(HeadLimit(admitted, settings.max_header_bytes))
        for_pages = Cors(
            plain,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
        requests = RequestContext(Shortcut(Targets(for_pages), plain), metrics, routes)

        async def by_type(scope: Scope, receive: Receive, send: Send) -> None:
            await (requests if scope["type"] == "http" else framework)(scope, receive, send)

        return by_type

    app.add_middleware(layers)
    app.state.early_refusal = EarlyRefusal(admission, AccessLog(metrics))


async def _load_and_watch(
    store: ModelStore, threads: Threads, on_failure: Callable[[str], None]
) -> None:
    """Load the models, and check what works in the background until it fails; return memory meanwhile."""
    loop, trimmer = asyncio.get_running_loop(), RestingTrimmer()
    loading = loop.run_in_executor(threads, _load, store)
    failure = None
    try:
        while failure is None:
            try:
                failure = await _failure_to_load(loading) or _failure_of(store)
                if loading.done() and trimmer.is_due():
                    loop.run_in_executor(threads, trimmer.trim)
            except Exception:  # this task must not end unnoticed
                logger.exception("the state of the models could not be checked")
    finally:
        loading.cancel()
    on_failure(failure)


def _load(store: ModelStore) -> None:
    """Load the models; return none of them, so that they are freed once they are replaced."""
    store.load()


async def _failure_to_load(loading: "asyncio.Future[None]") -> str | None:
    """Wait until the next check; return why the models could not be loaded, or None."""
    if loading.done():
        await asyncio.sleep(WATCH_SECONDS)
    else:
        await asyncio.wait([loading], timeout=WATCH_SECONDS)
    error = loading.exception() if loading.done() else None
    return None if error is None else reason(error)


def _failure_of(store: ModelStore) -> str | None:
    """Return why requests cannot be answered any more, or None."""
    if failure := store.check():
        return failure
    failure = watch.WATCH.failure(store.settings.stall_seconds)
    store.has_hung |= failure is not None
    return failure


@contextmanager
def _reloading_on_hangup(store: ModelStore, threads: Threads) -> Iterator[None]:
    """Reload the bundles on SIGHUP."""
    try:
        loop, previous = asyncio.get_running_loop(), signal.getsignal(signal.SIGHUP)
        loop.add_signal_handler(
            signal.SIGHUP, lambda: loop.run_in_executor(threads, _reload, store)
        )
    except (RuntimeError, ValueError):  # outside the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, previous)  # the default action would end the process


def _reload(store: ModelStore) -> None:
    if store.current is None:  # the first load would be refused, and end the service
        return
    try:
        store.load()
    except AttendantError as error:
        logger.error("the models were not reloaded: %s", error)
    except Exception:  # nothing awaits this call
        logger.exception("the models were not reloaded")

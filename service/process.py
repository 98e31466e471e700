"""The service's process: its settings, its server, its signals and its exit status."""

import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from service import logs
from service.api.connection import Connection
from service.api.connections import Connections, limit_for
from service.api.dependencies import Services
from service.api.server import ACCEPTS_PER_TURN, Server, Stop
from service.api.tracing import TracingError
from service.app import create_app
from service.engine.cores import available_cores
from service.engine.process_memory import configure_malloc
from service.errors import BundleError, reason
from service.keys import KeysError
from service.models import bundle
from service.settings import PREFIX, Settings, doubtful, misspelt
from service.threads import ThreadError, start_daemon

KEEP_ALIVE_SECONDS = 75
"""Longer than clients and proxies keep idle connections (nginx: 60 s), so that they close them first.

If the server closes a connection while a request is on its way, the client gets a reset, not an answer.
"""
FRAMING_BYTES = 4096
"""Allowance for the parts of a head besides target and header fields: method, version, colons, line ends."""
LAST_RESORT_SECONDS = 30.0
"""Time after the drain before the process is ended by force."""
GC_THRESHOLD = 10_000
"""New objects between two garbage collections, each of which stops all threads, including the engine's."""


def main(arguments: Sequence[str]) -> int:
    """Serve; return the exit status."""
    try:
        settings = Settings.from_command_line(arguments)
    except ValidationError as error:
        _explain(error)
        return 2
    try:
        return _serve(settings)
    except (BundleError, KeysError, TracingError, ThreadError, MemoryError) as error:
        _print_error(reason(error))
        return 1


def _serve(settings: Settings) -> int:
    """Serve until a signal; return the exit status.

    Raises:
        BundleError, KeysError, TracingError: the settings name something that cannot be used.
        ThreadError, MemoryError: the limits of the process are too low.
    """
    logs.configure(settings.log_level, settings.log_format)
    for line in [*misspelt(os.environ), *doubtful(settings)]:
        logging.getLogger(__name__).warning(line)
    configure_malloc(available_cores())
    failures: list[str] = []

    def fail(failure: str) -> None:
        failures.append(failure)
        _print_error(failure)
        server.should_exit = True

    # before listening, so that a bad bundle ends the process at once
    for folder in settings.named_bundles:
        bundle.load(folder)
    app = create_app(settings, fail)
    server = _server(settings, app)
    tune_garbage_collection()
    # uvicorn installs these while it serves, and afterwards raises the signal again, which then does nothing
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    try:
        server.run()
    except SystemExit:  # uvicorn has logged the reason
        addresses = ", ".join(f"{host}:{settings.port}" for host in settings.host)
        _print_error(f"cannot listen on {addresses}; the log above says why")
        _exit_at_once(1)  # the models may still be loading
    return 0 if server.started and not failures else 1


def _server(settings: Settings, app: FastAPI) -> Server:
    """Build the server of the application."""
    is_stopping = threading.Event()
    start_daemon("last-resort", partial(_end_by_force, settings, is_stopping))
    connections = Connections(limit_for(settings.max_connections), settings.max_held_answer_bytes)
    services: Services = app.state.services
    store = services.store
    services.metrics.watch_connections(connections.__len__)

    def announce() -> None:
        store.announce_stop()
        is_stopping.set()

    config = uvicorn.Config(
        app,
        host=settings.host,  # type: ignore[arg-type]  # asyncio takes several
        port=settings.port,
        http=partial(  # type: ignore[arg-type]
            Connection,
            connections=connections,
            early_refusal=app.state.early_refusal,
            max_head_bytes=2 * settings.max_header_bytes + FRAMING_BYTES,
        ),
        ws="none",
        workers=1,  # otherwise uvicorn reads WEB_CONCURRENCY, which may be no number
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        backlog=ACCEPTS_PER_TURN,
    )

    def finish() -> None:
        if store.has_hung or store.is_loading:  # the interpreter would wait for the threads
            _exit_at_once(int(store.has_hung))

    stop = Stop(
        settings.stop_delay_seconds,
        settings.drain_seconds,
        can_finish=lambda: store.can_finish,
        announce=announce,
        refuse=store.refuse_new,
        finish=finish,
    )
    return Server(config, connections, stop)


def _exit_at_once(status: int) -> NoReturn:
    """End the process without waiting for its threads."""
    logging.shutdown()
    os._exit(status)


def _end_by_force(settings: Settings, is_stopping: threading.Event) -> None:
    """Wait until the service stops, and end the process if it then takes too long."""
    is_stopping.wait()
    time.sleep(settings.stop_delay_seconds + settings.drain_seconds + LAST_RESORT_SECONDS)
    _exit_at_once(1)


def tune_garbage_collection() -> None:
    """Collect less often, and exempt all existing objects, which shortens pauses."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])


def _print_error(failure: str) -> None:
    """Print why the service cannot run, escaped, as names of files and keys may have any characters."""
    logs.print_line(f"error: {logs.one_line(failure)}")


def _explain(error: ValidationError) -> None:
    """Print which settings are invalid, and why."""
    for problem in error.errors():
        message, value = problem["msg"].removeprefix("Value error, "), problem["input"]
        if problem["loc"]:  # concerns a single setting
            name = str(problem["loc"][0])
            names = f"--{name.lower().replace('_', '-')}, {PREFIX}{name.upper()}"
            message = f"{names} = {value!r}: {message}"
        _print_error(message)
        if str(value).startswith("tcp://"):
            logs.print_line(
                "Kubernetes sets this for a Service called attendant: rename the Service, or set "
                "enableServiceLinks: false in the pod"
            )

"""The service's process: its settings, its server, its signals and its exit status."""

import gc
import logging
import os
import signal
import threading
from collections.abc import Sequence
from functools import partial

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from service import logs
from service.api.connection import Connection
from service.api.connections import Connections, limit_for
from service.api.server import ACCEPTS_PER_TURN, Server, Stop
from service.api.tracing import TracingError
from service.app import create_app
from service.engine.cores import available_cores
from service.engine.process_memory import configure_malloc
from service.errors import BundleError
from service.keys import KeysError
from service.models import bundle
from service.models.model_store import ModelStore
from service.settings import PREFIX, Settings, doubtful, misspelt

KEEP_ALIVE_SECONDS = 75
"""Longer than clients and proxies keep a connection that is idle (nginx: 60), so that they close it first.

Where the server does, a request that is just on its way gets a reset instead of an answer.
"""
FRAMING_BYTES = 4096
"""Of a head, beside its address and its header fields: method, version, colons, ends of lines."""
LAST_RESORT_SECONDS = 30.0
"""After the drain, in which the process ends by itself or is ended."""
GC_THRESHOLD = 10_000
"""New objects between two collections; a collection stops all threads, the engine's too."""


def main(arguments: Sequence[str]) -> int:
    """Serve; returns the exit status."""
    try:
        settings = Settings.from_command_line(arguments)
    except ValidationError as error:
        _explain(error)
        return 2
    logs.configure(settings.log_level, settings.log_format)
    for line in [*misspelt(os.environ), *doubtful(settings)]:
        logging.getLogger(__name__).warning(line)
    configure_malloc(available_cores())
    failures: list[str] = []

    def fail(reason: str) -> None:
        failures.append(reason)
        _tell(reason)
        server.should_exit = True

    try:
        for folder in settings.named_bundles:  # before anything listens: one bad bundle, one line
            bundle.load(folder)
        app = create_app(settings, fail)
    except (BundleError, KeysError, TracingError) as error:
        _tell(str(error))
        return 1
    server = _server(settings, app)
    tune_garbage_collection()
    # uvicorn sets the same while it serves; then it sends itself the signal again, and all is done
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    try:
        server.run()
    except SystemExit:  # uvicorn has logged the reason, then waited until the models were loaded
        place = f"{settings.host}:{settings.port}"
        _tell(f"cannot listen on {place}; the log above says why")
        return 1
    return 0 if server.started and not failures else 1


def _server(settings: Settings, app: FastAPI) -> Server:
    """What serves the application."""
    connections = Connections(limit_for(settings.max_connections))
    app.state.metrics.watch_connections(connections.__len__)
    store: ModelStore = app.state.models

    def announce() -> None:
        store.announce_stop()
        seconds = settings.stop_delay_seconds + settings.drain_seconds + LAST_RESORT_SECONDS
        timer = threading.Timer(seconds, _exit_at_once, (1,))
        timer.daemon = True
        timer.start()

    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=partial(  # type: ignore[arg-type]
            Connection,
            connections=connections,
            early_refusal=app.state.early_refusal,
            max_head_bytes=2 * settings.max_header_bytes + FRAMING_BYTES,
        ),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        backlog=ACCEPTS_PER_TURN,
    )

    def finish() -> None:
        if store.has_hung or store.is_loading_still:  # the interpreter would wait for its threads
            _exit_at_once(int(store.has_hung))

    stop = Stop(
        settings.stop_delay_seconds,
        settings.drain_seconds,
        can_finish=lambda: store.current is None or store.current.is_alive,
        announce=announce,
        refuse=store.refuse_new,
        finish=finish,
    )
    return Server(config, connections, stop)


def _exit_at_once(status: int) -> None:
    """End the process whatever its threads do."""
    logging.shutdown()
    os._exit(status)


def tune_garbage_collection() -> None:
    """Collect less often, and never what exists by now: shorter pauses."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])


def _tell(reason: str) -> None:
    """Say why the service does not serve; names of files and keys may hold anything."""
    logs.tell(f"error: {logs.one_line(reason)}")


def _explain(error: ValidationError) -> None:
    """Say which settings are wrong, and why."""
    for problem in error.errors():
        message, given = problem["msg"].removeprefix("Value error, "), problem["input"]
        if problem["loc"]:  # of one setting, not of several together
            name = str(problem["loc"][0])
            names = f"--{name.lower().replace('_', '-')}, {PREFIX}{name.upper()}"
            message = f"{names} = {given!r}: {message}"
        _tell(message)
        if str(given).startswith("tcp://"):
            logs.tell(
                "Kubernetes sets this for a Service called attendant: rename the Service, or set "
                "enableServiceLinks: false in the pod"
            )

"""`python -m service`: settings from environment and options, then serve until SIGTERM or SIGINT."""

import gc
import logging
import math
import os
import signal
import sys
from collections.abc import Sequence

import uvicorn
from pydantic import ValidationError

from service import bundle, logs
from service.api.connection import Connection
from service.app import create_app
from service.engine.memory import keep_large_apart
from service.errors import BundleError
from service.keys import KeysError
from service.settings import PREFIX, Settings, misspelt
from service.tracing import TracingError

KEEP_ALIVE_SECONDS = 75
"""Longer than clients and proxies keep a connection that is idle (nginx: 60), so that they close it first.

Where the server does, a request that is just on its way gets a reset instead of an answer.
"""
HEADS = 4
"""Times as much as an address or header fields may have is taken in before a connection is just closed.

Up to there the service itself answers, in the same words whether it came in one piece or in many.
"""
NEW_OBJECTS = 10_000
"""Between two looks for garbage. One stops all threads, the engine's too."""


def main(arguments: Sequence[str]) -> int:
    """Serve; returns the exit status."""
    try:
        settings = Settings.from_command_line(arguments)
    except ValidationError as error:
        _explain(error)
        return 2
    logs.configure(settings.log_level, settings.log_format)
    for line in misspelt(os.environ):
        logging.getLogger(__name__).warning(line)
    keep_large_apart()
    failures: list[str] = []

    def fail(reason: str) -> None:
        failures.append(reason)
        server.should_exit = True

    try:
        for folder in settings.bundle:  # before anything listens: a bad bundle is told in one line
            bundle.load(folder)
        app = create_app(settings, fail)
    except (BundleError, KeysError, TracingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http=Connection,
            ws="none",
            h11_max_incomplete_event_size=HEADS * settings.max_header_bytes,
            log_config=None,
            access_log=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        )
    )
    spare_the_collector()
    # uvicorn drains on these, then sends itself the same signal again: by then all is done
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server.run()
    for reason in failures:
        print(f"error: {reason}", file=sys.stderr)
    return 0 if server.started and not failures else 1


def spare_the_collector() -> None:
    """From now on, look for garbage more seldom, and only among what is not there yet: all else stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])


def _explain(error: ValidationError) -> None:
    """Say which settings are wrong, and why."""
    for problem in error.errors():
        message, given = problem["msg"].removeprefix("Value error, "), problem["input"]
        if problem["loc"]:  # of one setting, not of several together
            name = str(problem["loc"][0])
            names = f"--{name.lower().replace('_', '-')}, {PREFIX}{name.upper()}"
            message = f"{names} = {given!r}: {message}"
        print(f"error: {message}", file=sys.stderr)
        if str(given).startswith("tcp://"):
            print(
                "Kubernetes sets this where a Service is called attendant: give that another name, or the "
                "pod enableServiceLinks: false",
                file=sys.stderr,
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

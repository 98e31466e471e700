"""`python -m service`: settings from the environment, then serve until SIGTERM or SIGINT."""

import math
import signal
import sys

import uvicorn
from pydantic import ValidationError

from service import bundle, logs
from service.app import create_app
from service.errors import BundleError
from service.keys import KeysError
from service.settings import Settings
from service.tracing import TracingError

KEEP_ALIVE_SECONDS = 75
"""Longer than clients and proxies keep a connection that is idle (nginx: 60), so that they close it first.

Where the server does, a request that is just on its way gets a reset instead of an answer.
"""


def main() -> int:
    """Serve; returns the exit status."""
    try:
        settings = Settings()
    except ValidationError as error:
        for problem in error.errors():
            name = f"ATTENDANT_{'_'.join(map(str, problem['loc'])).upper()}"
            print(f"error: {name} = {problem['input']!r}: {problem['msg']}", file=sys.stderr)
        return 2
    logs.configure(settings.log_level, settings.log_format)
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
            log_config=None,
            access_log=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        )
    )
    # uvicorn drains on these, then sends itself the same signal again: by then all is done
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server.run()
    for reason in failures:
        print(f"error: {reason}", file=sys.stderr)
    return 0 if server.started and not failures else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m service`: settings from the environment, then serve until SIGTERM or SIGINT."""

import math
import signal
import sys

import uvicorn
from pydantic import ValidationError

from service import bundle, logs
from service.app import create_app
from service.errors import BundleError
from service.settings import Settings


def main() -> int:
    """Serve; returns the exit status."""
    try:
        settings = Settings()
    except ValidationError as error:
        for problem in error.errors():
            name = f"ATTENDANT_{'_'.join(map(str, problem['loc'])).upper()}"
            print(f"error: {name} = {problem['input']!r}: {problem['msg']}", file=sys.stderr)
        return 2
    logs.configure(settings.log_level)
    try:
        bundle.load(settings.bundle)  # before anything listens: a bad bundle is told in one line
    except BundleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        )
    )
    # uvicorn drains on these, then sends itself the same signal again: by then all is done
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server.run()
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m service`: settings from environment and options, then serve until SIGTERM or SIGINT."""

import signal
import sys
from contextlib import suppress


def main() -> int:
    """Serve; returns the exit status."""
    with suppress(AttributeError):  # Windows has no such signal
        # it asks for a reload; until there is something to reload, its default would end the process
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        from service import process  # takes most of a second

        return process.main(sys.argv[1:])
    except KeyboardInterrupt:  # before it has handlers of its own
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())

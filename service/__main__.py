"""`python -m service`: read settings from the environment and options, and serve until SIGTERM or SIGINT."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, by default with the process's own arguments; return the exit status."""
    _open_standard_streams()
    for number in STOP_SIGNALS:
        signal.signal(number, _leave)
    # SIGHUP means reload; before there is something to reload, its default would end the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    gc.disable()  # until `tune_garbage_collection`: startup makes hardly any garbage
    # its threads would idle beside the engine's; and where memory runs out, they keep the process from ending
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from service import process  # late, as it takes most of a second
    except (ValueError, StopIteration) as error:
        # if OpenTelemetry is installed, FastAPI has it read some of its variables
        sys.exit(
            str(error)
            or "a variable of OpenTelemetry (OTEL_...) names something that is not installed"
        )
    try:
        return process.main(sys.argv[1:] if arguments is None else arguments)
    finally:
        gc.enable()
        for number in STOP_SIGNALS:  # the exit status is settled, and nothing is left to stop
            signal.signal(number, signal.SIG_IGN)


def _open_standard_streams() -> None:
    """Open those that are closed: the event loop would get their descriptors, which libuv does not close."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _leave(number: int, _: FrameType | None) -> None:
    """Exit at once: until the service installs its own handlers, there is nothing to finish."""
    os._exit(0 if number == signal.SIGTERM else 128 + number)


if __name__ == "__main__":
    sys.exit(main())

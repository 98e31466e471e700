"""`attendant COMMAND`, or `python -m attendant COMMAND`: the entry point to the commands of all packages.

Each command is a module's `main(arguments)`, which is imported when the command is called, so the service
runs without the training tools. What ends any command, such as a full disk or Ctrl-C, is handled here.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import NamedTuple


class Command(NamedTuple):
    """A command of `attendant`."""

    module: str
    """The module whose `main` takes the arguments and returns the exit status."""
    summary: str
    extra: str = ""
    """The extra in pyproject.toml that the command needs."""


COMMANDS = {
    "serve": Command("service.__main__", "translate over HTTP"),
    "translate": Command("service.translate", "translate lines of standard input, or a file"),
    "train": Command("model.train", "train a model on aligned text", "train"),
    "export": Command("export.__main__", "make a bundle from a trained model", "train"),
    "import": Command(
        "export.importers.__main__", "make a bundle from a model in another format", "import"
    ),
    "convert": Command("export.convert", "convert an older bundle to the current format", "train"),
    "evaluate": Command("export.evaluate", "measure BLEU and chrF of a running service", "train"),
    "inspect": Command("service.models.inspect", "describe a bundle"),
    "keys": Command("service.keys", "make an API key"),
}

OUTPUT_BUFFER = 1 << 16
"""Bytes of standard output's buffer. It holds any `--help`, as argparse ignores errors of writing."""

STOP_SIGNALS = signal.SIGINT, signal.SIGTERM
INTERRUPTED = 128 + signal.SIGINT
"""The exit status after Ctrl-C."""
NO_THREAD = "can't start new thread"
"""What Python says if memory or the number of processes is exhausted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names, and return its exit status.

    Without `arguments`, take the process's own, and prepare its streams and signals. If output cannot be
    written, or memory or a file fails the command, a line on standard error says so.
    """
    if arguments is not None:
        return _run(arguments)
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are imported
    try:
        return _run(sys.argv[1:])
    finally:
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is _leave:  # after `_interrupt`
                # a thread that computes would abort the process, or delay its end
                os._exit(128 + number)
            if signal.getsignal(number) is _interrupt:
                signal.signal(number, signal.SIG_DFL)


def _prepare_streams() -> None:
    """Open the standard streams that are closed, and let standard output escape what it cannot encode.

    Otherwise, files that are opened later would take the place of the closed streams, and what is meant for
    standard error would go to standard output. Writing to a standard output that was closed fails.
    """
    if sys.stdin is None:  # stays None: only its place is taken
        os.open(os.devnull, os.O_WRONLY)
    file = os.open(os.devnull, os.O_RDONLY) if sys.stdout is None else sys.stdout.fileno()
    encoding = None if sys.stdout is None else sys.stdout.encoding
    sys.stdout = open(  # noqa: SIM115
        file, "w", OUTPUT_BUFFER, encoding, errors="backslashreplace", closefd=False
    )
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _interrupt(number: int, _: FrameType | None) -> None:
    """End the command with KeyboardInterrupt, so that it cleans up; the next signal ends the process."""
    signal.signal(number, _leave)
    raise KeyboardInterrupt


def _leave(number: int, _: FrameType | None = None) -> None:
    """End the process at once, as interrupted by a signal."""
    os._exit(128 + number)


def _run(arguments: Sequence[str]) -> int:
    """Run a command, report what ends it, and return the exit status."""
    status = 0
    try:
        try:
            status = _call(arguments)
        finally:  # also after --help, which raises SystemExit
            _flush_output()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads on, so there is nobody to tell
        return status or 1
    except MemoryError:
        return _failed("out of memory")
    except OSError as error:
        if status:  # the command has failed, and has said why
            return status
        place = "" if error.filename is None else f"{error.filename}: "
        return _failed(f"{place}{error.strerror or error}")
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        return _failed(f"{error}: too little memory, or too many processes")
    return status


def _flush_output() -> None:
    """Flush standard output.

    Raises:
        OSError: it cannot be written; what is left of it is discarded.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # redirected, so that the interpreter's flush at exit does not fail, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        error.filename = "standard output"
        raise


def _failed(reason: str) -> int:
    """Say why the command failed, and return its exit status."""
    with suppress(OSError):  # standard error may be full, too
        print(f"error: {reason}", file=sys.stderr)
    return 1


def _call(arguments: Sequence[str]) -> int:
    """Import the command that the first argument names, call it, and return its exit status."""
    name, *command_arguments = arguments or [""]
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name == "--version":
        from importlib.metadata import version  # slow to import

        print(f"attendant {version('attendant')}")
        return 0
    if name not in COMMANDS:
        problem = f"there is no command {name}" if name else "a command is missing"
        print(f"error: {problem}\n\n{_usage()}", file=sys.stderr)
        return 2
    command = COMMANDS[name]
    try:
        module = import_module(command.module)
    except ModuleNotFoundError as error:
        if not command.extra:
            raise
        return _failed(
            f"attendant {name} needs the extra {command.extra}: "
            f"pip install -e '.[{command.extra}]' in a clone of Attendant ({error})"
        )
    for number in STOP_SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _interrupt)
    status: int = module.main(command_arguments)
    return status


def _usage() -> str:
    lines = [
        f"  {name:<10} {command.summary}" + (f" (extra {command.extra})" if command.extra else "")
        for name, command in COMMANDS.items()
    ]
    return "\n".join(
        [
            "usage: attendant COMMAND ...",
            "       attendant --help | --version",
            "",
            *lines,
            "",
            "attendant COMMAND --help lists the options of a command.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

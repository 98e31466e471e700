"""`attendant COMMAND`, or `python -m attendant COMMAND`: the entry point to the commands of all packages.

Each command is a module's `main(arguments)`, which is imported when the command is called, so the service
runs without the training tools.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names, and return its exit status."""
    name, *command_arguments = (sys.argv[1:] if arguments is None else list(arguments)) or [""]
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
        print(
            f"error: attendant {name} needs the extra {command.extra}: "
            f"pip install -e '.[{command.extra}]' in a clone of Attendant ({error})",
            file=sys.stderr,
        )
        return 1
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

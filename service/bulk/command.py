"""`attendant translate FILE --out OUT`: options, and the start of a run."""

import argparse
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from service.bulk.files import KINDS, Wanted
from service.bulk.pump import Translate
from service.bulk.run import Job, run
from service.models.bundle import MANIFEST
from service.python_api import Translator
from service.translation.types import Translation

_LINES = ("column", "field", "keep", "kind")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of translating line by line."""
    add = parser.add_argument_group(
        "line by line",
        "With --out, FILE is a .txt, .tsv or .jsonl, or such a file compressed (.gz, .zst), or a folder of "
        "them. A run that was stopped or killed is continued by the same command.",
    ).add_argument
    add("--out", type=Path, metavar="OUT", help="file or folder for the translation")
    add(
        "--column",
        type=int,
        metavar="N",
        help="for .tsv: number of the column to translate, from 1",
    )
    add("--field", metavar="NAME", help="for .jsonl: name of the field to translate")
    add("--keep", action="store_true", help="keep the text, and add its translation after it")
    add("--kind", choices=KINDS, help="what the lines are, if the file has another suffix")


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a message if the options contradict each other."""
    if options.out is None:
        for name in _LINES:
            if getattr(options, name):
                parser.error(f"--{name} is for translating line by line, which needs --out")
    elif options.file is None:
        parser.error("--out needs a FILE, or a folder")
    elif options.column is not None and options.column < 1:
        parser.error(f"--column must be at least 1, but is {options.column}")


def translate_files(options: argparse.Namespace) -> int:
    """Translate FILE line by line into OUT; return the exit status.

    Raises:
        BulkError, AttendantError, OSError: the run failed; see `service.bulk.run`.
    """
    job = Job(
        options.file, options.out, Wanted(**{name: getattr(options, name) for name in _LINES})
    )
    request = {"source": options.source, "target": options.target}
    request |= {name: getattr(options, name) for name in ("format", "splitting", "beam_size")}
    manifest: Path = options.bundle / MANIFEST
    with ExitStack() as stack:

        def load() -> tuple[Translate, dict[str, Any]]:
            translator = stack.enter_context(
                Translator.load(options.bundle, device=options.device, precision=options.precision)
            )

            def translate(texts: Sequence[str]) -> list[Translation]:
                return translator.translate(texts, **request)

            translate([])  # reports an unsupported language before any file is created
            model = hashlib.sha256(manifest.read_bytes()).hexdigest()[:16]
            return translate, {**request, "model": model, "precision": options.precision}

        return run(job, load)

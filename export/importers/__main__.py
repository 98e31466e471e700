"""`attendant import SOURCE --out BUNDLE`: make a bundle from a model of another project.

The format is recognised by the files. The bundle is verified: its graphs are compared with the network in
torch, and the network with the format's own library, if that is installed.
"""

import argparse
import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from export.bundle_writer import add_memory
from export.importers.conversion import import_model
from export.importers.hub import fetched
from export.importers.imported import SourceError, is_out_of_memory
from export.importers.rule_choice import AUTO, rules_named
from export.material import ExportOptions
from export.verify import VerificationError
from model.checks import ConfigError
from model.data.text import DataError
from service.errors import BundleError

NON_COMMERCIAL = re.compile(r"(?<![a-z])nc(?![a-z])", re.IGNORECASE)
"""Matches the names of non-commercial Creative Commons licences."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line's options."""
    argument_parser = argparse.ArgumentParser(prog="attendant import", description=__doc__)
    argument_parser.add_argument(
        "model",
        metavar="SOURCE",
        help="the model's folder, a zip archive around it, or its name at "
        "Hugging Face, for example Helsinki-NLP/opus-mt-de-en",
    )
    argument_parser.add_argument(
        "--out", type=Path, required=True, metavar="BUNDLE", help="the bundle's folder"
    )
    argument_parser.add_argument("--name", help="the model's name; default: the name of SOURCE")
    argument_parser.add_argument(
        "--source", default="", help="source language codes, if the model does not name them"
    )
    argument_parser.add_argument(
        "--target",
        default="",
        help="target language codes, if the model does not name them; for a model with many, those to keep",
    )
    argument_parser.add_argument(
        "--data", type=Path, metavar="FILE", help="text in the source language, one sentence per "
        "line, to calibrate int8; default: drawn from the vocabulary"
    )  # fmt: skip
    argument_parser.add_argument(
        "--precisions",
        default="int8,fp16",
        help="comma-separated list of int8, fp16, fp32 (default int8,fp16)",
    )
    argument_parser.add_argument(
        "--normalize-punctuation", action=argparse.BooleanOptionalAction, help="normalise quotes, "
        "dashes and spaces as Moses does; default: if the model's files do so"
    )  # fmt: skip
    argument_parser.add_argument(
        "--rules", default="", metavar="NAMES", help="rules for the model's weaknesses that need no "
        "table, separated by commas; auto: those that improve the translations of --check"
    )  # fmt: skip
    argument_parser.add_argument(
        "--check", type=Path, metavar="DIR", help="folder with aligned texts valid.<code>, of a "
        "hundred lines or more, for --rules auto"
    )  # fmt: skip
    argument_parser.add_argument(
        "--licence", action="append", default=[], help="licence of the model; may be repeated"
    )
    add_memory(argument_parser)
    return argument_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    options = parser().parse_args(arguments)
    options.precisions = tuple(options.precisions.split(","))
    if unknown := set(options.precisions) - {"int8", "fp16", "fp32"}:
        print(
            f"error: --precisions: {min(unknown)} is not one of int8, fp16, fp32", file=sys.stderr
        )
        return 2
    if (options.rules == AUTO) != (options.check is not None):
        print("error: --rules auto and --check need each other", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    sources, targets = (
        [code for code in codes.split(",") if code] for codes in (options.source, options.target)
    )
    try:
        with fetched(options.model) as model:
            path = Path(os.path.realpath(model))
            name = options.name or (path.stem if path.is_file() else path.name)
            manifest = import_model(
                model,
                options.out,
                ExportOptions(
                    name, options.precisions, tuple(options.licence), memory=options.memory
                ),
                sources,
                targets,
                options.data,
                punctuation=options.normalize_punctuation,
                rules={} if options.rules == AUTO else rules_named(options.rules),
                check=options.check,
            )
    except Exception as error:
        if (reason := _reason(error, options)) is None:
            raise
        print(f"error: {reason}", file=sys.stderr)
        return 1
    size = sum((options.out / file).stat().st_size for file in manifest.files)
    count = len(manifest.directions)
    for licence in manifest.provenance.licences:
        is_non_commercial = NON_COMMERCIAL.search(licence)
        print(
            f"licence: {licence}{', which allows no commercial use' if is_non_commercial else ''}"
        )
    print(f"{options.out}: {manifest.name}, {count} direction(s), {size / 1e6:.1f} MB")
    return 0


def _reason(error: Exception, options: argparse.Namespace) -> str | None:
    """Return what an error says to the user, or None if it is a fault of the program."""
    if is_out_of_memory(error):
        return (
            f"{options.model}: there is not enough memory to import it; end other programs, or import it on "
            "a machine with more, and copy the bundle"
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or options.out}: {error.strerror}"
    known = (SourceError, BundleError, ConfigError, VerificationError, DataError, OSError)
    return str(error) if isinstance(error, known) else None


if __name__ == "__main__":
    sys.exit(main())

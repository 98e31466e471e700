"""`attendant export RUN --data DIR --out BUNDLE`: turn a trained run into a bundle that the service runs.

RUN may also be a bundle, which is then exported again. The weights of several runs are averaged, which helps
if the runs started from the same weights.

`python -m export import` and `python -m export convert` are `attendant import` and `attendant convert`.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import service.models.bundle
from export import convert
from export.bundle_writer import add_memory, write_bundle
from export.importers import __main__ as importing
from export.material import ExportOptions
from export.verify import VerificationError
from model import bundle
from model.checkpoint import Checkpoint, CheckpointError, average, load_run
from model.config import ConfigError
from model.data.text import DataError, read_aligned
from service.errors import BundleError
from service.models.bundle import MANIFEST, MANIFESTS_ALIKE, Bundle

logger = logging.getLogger("export")

COMMANDS = {"import": importing.main, "convert": convert.main}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse and check the command line's options."""
    parser = argparse.ArgumentParser(prog="attendant export", description=__doc__)
    parser.add_argument(
        "runs",
        metavar="run",
        type=Path,
        nargs="+",
        help="a run's folder, a checkpoint in it, or a bundle; one that is given twice counts twice in "
        "the average; the configuration of the last one is recorded",
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with valid.<code>, for calibration and verification",
    )
    parser.add_argument("--out", type=Path, required=True, help="the bundle's folder")
    parser.add_argument(
        "--average",
        type=int,
        help="number of last checkpoints of each run to average (default 5, as in the paper; 1 after a "
        "cool-down, which has the same effect)",
    )
    parser.add_argument("--name", help="the model's name; default: the name of the bundle's folder")
    parser.add_argument(
        "--precisions",
        default="int8,fp16",
        help="comma-separated list of int8, fp16, fp32 (default int8,fp16)",
    )
    parser.add_argument(
        "--like",
        type=Path,
        metavar="BUNDLE",
        help="copy decoding defaults, rules and memory from this bundle; default: the bundle at --out",
    )
    add_memory(parser)
    parser.add_argument(
        "--licence",
        action="append",
        default=[],
        help="licence of the training data; may be repeated",
    )
    options = parser.parse_args(arguments)
    options.precisions = tuple(options.precisions.split(","))
    if unknown := set(options.precisions) - {"int8", "fp16", "fp32"}:
        parser.error(f"--precisions: {', '.join(sorted(unknown))} is not one of int8, fp16, fp32")
    if options.average is not None and options.average < 1:
        parser.error(f"--average: {options.average} must be at least 1")
    return options


def load(source: Path, last: int | None) -> Checkpoint:
    """Load the weights of a run or a bundle.

    Args:
        source: a run's folder, a checkpoint in it, or a bundle.
        last: number of a run's last checkpoints to average; by default 5, or 1 if the training ended with
            a cool-down.

    Raises:
        CheckpointError: there is nothing to load, the run has fewer checkpoints, or `last` is given for a
            bundle.
    """
    if (source / MANIFEST).exists():
        if last is not None:
            raise CheckpointError(f"--average: {source} is a bundle, with one set of weights")
        return bundle.load(source)
    checkpoint = load_run(source, last=1)
    count = last or (1 if checkpoint.config.training.cooldown_steps else 5)
    return load_run(source, count) if count > 1 else checkpoint


def _bundle_at(folder: Path) -> Bundle | None:
    """Load the bundle that is about to be replaced; None if there is none that this version can read."""
    if not (folder / MANIFEST).exists():
        return None
    try:
        return service.models.bundle.load(folder, MANIFESTS_ALIKE)
    except BundleError as error:
        logger.warning("decoding defaults and tables are not copied: %s", error)
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Export, or run the command that the first argument names; return the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in COMMANDS:
        return COMMANDS[given[0]](given[1:])
    options = parse(given)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        checkpoint = average([load(run, options.average) for run in options.runs])
        text = read_aligned(options.data, "valid", checkpoint.config.data.languages)
        export_options = ExportOptions(
            name=options.name or options.out.name,
            precisions=options.precisions,
            licences=tuple(options.licence),
            like=service.models.bundle.load(options.like, MANIFESTS_ALIKE)
            if options.like
            else _bundle_at(options.out),
            memory=options.memory,
        )
        manifest = write_bundle(checkpoint, text, options.out, export_options)
    except (
        BundleError,
        CheckpointError,
        ConfigError,
        DataError,
        VerificationError,
        OSError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = sum((options.out / name).stat().st_size for name in manifest.files)
    print(f"{options.out}: {manifest.name}, step {checkpoint.step}, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

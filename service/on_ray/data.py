"""Translate files on a Ray cluster with Ray Data: `python -m service.on_ray.data INPUT OUTPUT`.

Rows keep their other columns, but not their order. Run the same command again to continue a run that was
stopped: the ids of the rows that were written are kept in the folder of --checkpoints until all are done.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset
from ray.data.checkpoint import CheckpointConfig

from service.bulk.pump import translated_each
from service.logs import print_line
from service.models.bundle import DEFAULT_BUNDLE
from service.python_api import Translator

BATCH_ROWS = 1024
"""Rows that are translated together: enough for an engine to sort by length."""
BLOCK_ROWS = 8 * BATCH_ROWS
"""Rows that are written and recorded together, and translated again if a worker is lost."""
READING_CORES = 2
"""Cores that Ray needs for reading, repartitioning and writing, in addition to those of the workers."""
Batch = dict[str, Any]
"""Columns by name: arrays of equal length."""


class Translating:
    """A worker with its own model."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Load the model."""
        self.options = options
        self.translator = Translator.load(
            options.bundle,
            device="cuda" if options.gpu else "cpu",
            num_workers=0 if options.gpu else options.cores,
        )

    def __call__(self, batch: Batch) -> Batch:
        """Add the columns `translation` and `problem`, which is empty for fully translated rows."""
        options = self.options
        texts = [text if isinstance(text, str) else None for text in batch[options.column]]
        results = translated_each(
            lambda texts: self.translator.translate(texts, options.source, options.target),
            [text or "" for text in texts],
        )
        batch["translation"] = [result.text for result in results]
        batch["problem"] = [
            "it is not a string" if text is None else result.first_problem
            for text, result in zip(texts, results, strict=True)
        ]
        return batch


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return the exit status."""
    options = _parse(arguments)
    if not ray.is_initialized():
        ray.init()
    for problem in _missing(options, ray.cluster_resources()):
        print_line(f"{problem}: the run waits until it has them")
    DataContext.get_current().checkpoint_config = CheckpointConfig(
        id_column=options.id,
        checkpoint_path=options.checkpoints,
        delete_checkpoint_on_success=True,
    )
    rows = _read(options.input).repartition(target_num_rows_per_block=BLOCK_ROWS)
    rows = rows.map_batches(
        Translating,
        fn_constructor_args=(options,),
        batch_size=BATCH_ROWS,
        compute=ActorPoolStrategy(min_size=1, max_size=options.workers),
        num_cpus=options.cores,
        num_gpus=1 if options.gpu else None,
    )
    rows.write_parquet(options.output)
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m service.on_ray.data", description=__doc__)
    add = parser.add_argument
    add(
        "input",
        help="a .jsonl file, or a .parquet file or a folder of them; every node must be able to read it",
    )
    add("output", help="folder for Parquet files; every node must be able to write it")
    add("--column", default="text", help="column with the texts (default text)")
    add("--id", default="id", help="column with a different value in each row (default id)")
    add(
        "--checkpoints",
        required=True,
        help="folder for the ids of written rows; every node must be able to write it",
    )
    add("--source", metavar="CODE", help="source language code")
    add("--target", metavar="CODE", help="target language code")
    add("--bundle", default=str(DEFAULT_BUNDLE), help="the model's folder on each node")
    add("--workers", type=int, default=1, help="maximum number of workers (default 1)")
    add("--cores", type=int, default=2, help="cores per worker (default 2)")
    add("--gpu", action="store_true", help="each worker has a GPU")
    return parser.parse_args(arguments)


def _missing(options: argparse.Namespace, resources: Mapping[str, float]) -> list[str]:
    """Describe which of the resources for a single worker a cluster lacks; it may be about to grow."""
    needed = {"CPU": options.cores + READING_CORES, "GPU": int(options.gpu)}
    return [
        f"the cluster has {resources.get(kind, 0):g} {kind}s, but one worker and reading need {minimum}"
        for kind, minimum in needed.items()
        if resources.get(kind, 0) < minimum
    ]


def _read(path: str) -> Dataset:
    is_json = path.removesuffix(".gz").endswith((".jsonl", ".json"))
    return ray.data.read_json(path) if is_json else ray.data.read_parquet(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

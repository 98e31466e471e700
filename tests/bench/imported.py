"""`python -m tests.bench.imported`: compare imported models with the engines that they come from.

`opus` has the shape of an OPUS-MT model and is compared with CTranslate2 on all cores. `student` has the
shape of a Firefox student and is compared with Marian's native int8 build on one core, if this is installed
(see tests/bench/README.md). Writes `bench_imported.json` and tables in `docs/performance.md`. No speed is
asserted.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from service.engine.cores import available_cores
from tests.bench import imported_models, measure, online, report, student
from tests.bench.imported_models import ImportedModel
from tests.bench.limit import Gauge
from tests.bench.marian import PYTHON
from tests.bench.measure import Effort, Results, Row
from tests.bench.models import ROOT
from tests.bench.systems import Remote
from tests.documents import renew

FILE = "bench_imported.json"
PAGE = Path("docs", "performance.md")
MARK = "imported"
SENTENCES = {"opus": 64, "student": 160}
TINY: dict[str, Any] = {
    "d_model": 128,
    "d_ff": 256,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "vocab_size": 2002,
}


@dataclass
class ImportedResults(Results):
    """Results with additional measurements of imported models."""

    student: list[Row] = field(default_factory=list)
    """A row for each side, on one core."""
    projection: dict[str, float] = field(default_factory=dict)
    """The share of decoding that the projection to the vocabulary of `opus` takes, by kernel."""


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.imported", description=__doc__)
    parser.add_argument("--models", default="opus,student", help="comma-separated")
    parser.add_argument("--thorough", action="store_true", help="more rounds")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to try this command")
    parser.add_argument("--marian", type=Path, default=PYTHON, help="a Python 3.10 with bergamot")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build" / "bench", help="for the models"
    )
    parser.add_argument(
        "--documents", action="store_true", help=f"only write the documents from {FILE}"
    )
    parser.add_argument("--no-documents", action="store_true", help=f"only write {FILE}")
    return parser.parse_args()


def main() -> int:
    """Measure and return the exit status."""
    options = parse()
    if options.documents:
        write_documents(read(ROOT), ROOT)
        return 0
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    effort = Effort(available_cores(), quick=not options.thorough)
    command = "python -m tests.bench.imported" + (" --thorough" if options.thorough else "")
    results = ImportedResults(report.machine(), command)
    started = time.perf_counter()
    if "opus" in options.models:
        measure_opus(_make("opus", options), effort, results)
    if "student" in options.models and options.marian.exists():
        model = _make("student", options)
        results.student = student.measure(model, options.marian, effort, results)
    elif "student" in options.models:
        logging.warning("student: left out, because %s does not exist", options.marian)
    results.notes["minutes"] = round((time.perf_counter() - started) / 60, 1)
    if options.tiny:
        print(part(results))
        return 0
    write(results, ROOT)
    if not options.no_documents:
        write_documents(read(ROOT), ROOT)  # with figures as rounded in the file
    print(part(results))
    return 0


def _make(name: str, options: argparse.Namespace) -> ImportedModel:
    logging.info("%s: files and bundle", name)
    folder = options.cache / (f"tiny-{name}" if options.tiny else name)
    count = SENTENCES[name] * (3 if options.thorough else 1)
    make, sizes = {
        "opus": (imported_models.opus, imported_models.OPUS),
        "student": (imported_models.student, imported_models.STUDENT),
    }[name]
    return make(folder, count, replace(sizes, **TINY) if options.tiny else sizes)


def measure_opus(model: ImportedModel, effort: Effort, results: ImportedResults) -> None:
    """Measure all sentences at once, single ones, arrivals, and the projection's share."""
    logging.info("opus: offline and alone")
    capacity = measure.offline(model, "int8", replace(effort, only_alone=True), results)
    row = results.offline[-1]
    # per token, since int8 changes the lengths of random weights' translations
    for name in ("offline", "single"):
        results.ratios[f"{name}.opus.int8"] *= row["mean target"] / row["its mean target"]
    logging.info("opus: online")
    online.measure(model, capacity, effort, results)
    logging.info("opus: projection")
    with Remote(Gauge, model, 1) as gauge:
        shares = gauge.call("projection")
    results.projection = {kind: round(share, 4) for kind, share in shares.items()}


def part(results: ImportedResults) -> str:
    """Return the generated part of docs/performance.md."""
    rows = [
        {"ratio": label, **{model: _ratios(results, names, model) for model in SENTENCES}}
        for label, names in report.OVERVIEW.items()
        if not label.startswith(("HTTP", "95 %"))
    ]
    if not results.ratios:
        return report.table([])
    paragraphs = [
        f"Measured by `{results.command}` on {results.machine}; int8, medians.\n",
        report.table(rows),
        "`opus` on all cores, all sentences at once, beam 4:\n",
        report.table(results.offline),
        "`student` on one core, beam 1:\n",
        report.table(results.student),
    ]
    if results.projection:
        total = sum(results.projection.values())
        kinds = ", ".join(
            f"{kind} {share:.0%}" for kind, share in results.projection.items() if share >= 0.005
        )
        paragraphs.append(f"The vocabulary takes {total:.0%} of the decoding of `opus`: {kinds}.\n")
    return "\n".join(paragraphs)


def _ratios(results: Results, names: Sequence[str], model: str) -> str:
    ratios = [results.ratios.get(name.format(model=model, precision="int8")) for name in names]
    return ", ".join(f"{ratio:.2f}" for ratio in ratios if ratio)


def write(results: ImportedResults, root: Path) -> None:
    """Write the figures."""
    ratios = {name: round(ratio, 3) for name, ratio in sorted(results.ratios.items())}
    figures = asdict(results) | {"ratios": ratios}
    (root / FILE).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def read(root: Path) -> ImportedResults:
    """Read the latest figures, or return empty results if there are none."""
    path = root / FILE
    if not path.exists():
        return ImportedResults("", "")
    return ImportedResults(**json.loads(path.read_text(encoding="utf-8")))


def write_documents(results: ImportedResults, root: Path) -> None:
    """Update the tables."""
    renew(root / PAGE, MARK, part(results))


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.bench`: compare the service with CTranslate2 on the same weights.

Writes `bench.json`, the tables in README.md, `docs/performance.md` and `tests/bench/README.md`, and a figure.
With `--data`, `tests.bench.curve` runs as well. No speed is asserted.
"""

import argparse
import sys
import time
from pathlib import Path

from tqdm import tqdm

from model.data.text import DataError
from service.engine.cores import available_cores
from tests.bench import curve, curve_report, measure, online, over_http, report
from tests.bench.limit import Churner, Gauge
from tests.bench.measure import Effort, Results
from tests.bench.models import ROOT, BenchModel, ModelName, build
from tests.bench.systems import Remote

SENTENCES: dict[ModelName, int] = {"default": 400, "small": 300, "base": 96}
CHURN_SECONDS = 300
CHURN_SAMPLES = 10


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter measurements")
    parser.add_argument(
        "--models", help="comma-separated; default: all, or default,base with --quick"
    )
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build" / "bench", help="for the models"
    )
    parser.add_argument(
        "--data", type=Path, help="folder with test.de and test.en, for BLEU against speed"
    )
    parser.add_argument(
        "--documents", action="store_true", help="only write the documents from bench.json"
    )
    parser.add_argument("--no-readme", action="store_true", help="only write bench.json")
    return parser.parse_args()


def main() -> int:
    """Measure and return the exit status."""
    options = parse()
    if options.documents:
        report.write_documents(report.read(ROOT), ROOT)
        curve_report.write_documents(curve_report.read(ROOT), ROOT)
        return 0
    size = (200, 1) if options.quick else (curve.LINES, curve.ROUNDS)
    text = curve.lines_of(options.data, *size) if options.data else None
    models = options.models or ("default,base" if options.quick else "default,small,base")
    effort = Effort(available_cores(), options.quick)
    names: list[ModelName] = [
        name for name in ("default", "small", "base") if name in models.split(",")
    ]
    command = "make bench QUICK=1" if options.quick else "make bench"
    results = Results(report.machine(), command)
    started = time.perf_counter()
    with tqdm(
        total=5 * len(names) + 4, unit="part", bar_format="{l_bar}{bar}| {elapsed} {desc}"
    ) as bar:

        def next_part(what: str) -> None:
            bar.update()
            bar.set_description(what)
            results.notes["minutes"] = round((time.perf_counter() - started) / 60, 1)
            report.write(results, ROOT)  # the results so far

        for name in names:
            next_part(f"{name}: weights")
            count = SENTENCES[name] // (3 if options.quick else 1)
            model = build(name, options.cache, count)
            next_part(f"{name}: offline, int8")
            capacity = measure.offline(model, "int8", effort, results)
            next_part(f"{name}: offline, fp32")
            measure.offline(model, "fp32", effort, results)
            if name != "small":
                next_part(f"{name}: online")
                online.measure(model, capacity, effort, results)
            if name == "default":
                next_part("default: over HTTP")
                over_http.measure(model, options.cache, capacity, effort, results)
                next_part("default: memory")
                _memory(model, effort, results)
            if name == "base":
                next_part("base: share of the limit")
                _limit(model, effort, results)
        next_part("done")
    if not (options.quick or options.no_readme):
        report.write_documents(report.read(ROOT), ROOT)  # with figures as rounded in the file
    print(report.details(results))
    if text is None:
        print("BLEU by speed was not measured: it needs --data, a folder with test.de and test.en")
        return 0
    _curve(text, size, options)
    return 0


def _curve(text: dict[str, list[str]], size: tuple[int, int], options: argparse.Namespace) -> None:
    command = 'make bench ARGS="--data DIR"'
    points = curve.measure(text, options.cache, *size, command)
    print(curve_report.overview(points))
    if not (options.quick or options.no_readme):
        curve_report.write(points, ROOT)


def _limit(model: BenchModel, effort: Effort, results: Results) -> None:
    with Remote(Gauge, model, effort.cores) as gauge:
        peak = max(gauge.call("peak_operations") for _ in range(3))
        results.notes["peak, int8 GOP/s"] = round(peak / 1e9)
        results.notes["peak, memory GB/s"] = round(gauge.call("peak_bandwidth") / 1e9, 1)
        for rows in (1, 4, 16):
            row = gauge.call("decoding", rows)
            share = row["operations/s"] / peak
            results.notes[f"decoding {rows} rows a loop"] = (
                f"{row['operations/s'] / 1e9:.0f} GOP/s = {share:.0%} of the peak, "
                f"{row['weight bytes/s'] / 1e9:.1f} GB/s of weights, host {row['host share']:.1%}"
            )
        results.ratios["limit.base.int8"] = share
        results.kernels = gauge.call("kernels")


def _memory(model: BenchModel, effort: Effort, results: Results) -> None:
    seconds = (10 if effort.quick else CHURN_SECONDS) / CHURN_SAMPLES
    with Remote(Churner, model, "int8", effort.cores) as churner:
        for sample in range(1, CHURN_SAMPLES + 1):
            num_sentences = churner.call("churn", seconds)
            resident = churner.call("resident_bytes")
            results.memory.append(
                {
                    "after s": round(sample * seconds),
                    "sentences": num_sentences,
                    "resident MiB": round(resident / 2**20),
                }
            )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DataError as error:
        sys.exit(f"error: {error}")

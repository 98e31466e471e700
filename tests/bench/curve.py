"""`python -m tests.bench.curve --data DIR`: measure BLEU by sentences per second over HTTP.

Measures the bundled model with 1 to 8 beams, each stop rule, with and without reranking, in int8 and fp32,
and CTranslate2 with the same weights behind the same web framework. 64 connections send the lines of
DIR/test.de. The references are in DIR/test.en. `make bench` includes this benchmark if it is given DIR.

Writes `bench_curve.json`, a figure, and tables in `docs/performance.md` and `tests/bench/README.md`.
"""

import argparse
import asyncio
import pickle
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from model.data.text import DataError, read_aligned
from service.engine.cores import available_cores
from service.models import bundle
from service.models.bundle import DEFAULT_BUNDLE
from tests.bench import curve_report, report
from tests.bench.curve_points import Point, points, write_bundles
from tests.bench.measure import Row
from tests.bench.models import ROOT, build
from tests.bench.over_http import (
    CONNECTIONS,
    Connection,
    closed_loop,
    free_port,
    serving,
    steady_rate,
)
from tests.bench.text import everyday_german

SOURCE, TARGET = "de", "en"
LINES, ROUNDS = 600, 2
MIN_LINES = 3 * CONNECTIONS
"""Minimum lines of a round, so that all connections are busy for a third of it."""


@dataclass
class Course:
    """The translations of a point so far, by line, and its rates."""

    answers: dict[int, str] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)

    def row(self, point: Point, references: Sequence[str]) -> Row:
        """Return the figures of the point."""
        answers = [self.answers[line] for line in range(len(references))]
        bleu = sacrebleu.corpus_bleu(answers, [references]).score
        rate = statistics.median(self.rates)
        return {**asdict(point), "sentences/s": round(rate, 1), "BLEU": round(bleu, 2)}


async def answered(
    port: int, lines: Sequence[str], fields: dict[str, Any]
) -> tuple[list[str], float]:
    """Translate all lines; return the translations and the lines per second."""
    answers, remaining, ends = [""] * len(lines), iter(enumerate(lines)), list[float]()

    async def work() -> None:
        connection = Connection(port)
        for index, line in remaining:
            answers[index] = await connection.translate(line, **fields)
            ends.append(time.perf_counter())
        await connection.close()

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return answers, steady_rate(ends, CONNECTIONS)


def measure(
    text: dict[str, list[str]], cache: Path, lines: int, rounds: int, command: str
) -> curve_report.Curve:
    """Measure all points in alternating order, with other lines in each round."""
    sources, references = (text[code][:lines] for code in (SOURCE, TARGET))
    started, cores, all_points = time.perf_counter(), available_cores(), list(points())
    model = build("default", cache, sentences=64)
    courses = {point: Course() for point in all_points}
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        write_bundles(bundle.load(DEFAULT_BUNDLE), model.graphs("fp32"), folder)
        (folder / "model.pickle").write_bytes(pickle.dumps(model))
        servers = {point: point.server(folder, cores) for point in all_points}
        ports = {}
        for server in tqdm(dict.fromkeys(servers.values()), desc="starting", unit="server"):
            ports[server] = free_port()
            environment = dict(server.environment)
            stack.enter_context(serving(server.command, ports[server], **environment))
            asyncio.run(closed_loop(ports[server], everyday_german(CONNECTIONS), CONNECTIONS))
        order = [
            (round_number, point)
            for round_number in range(rounds)
            for point in all_points[:: -1 if round_number % 2 else 1]
        ]
        for round_number, point in (bar := tqdm(order, unit="point")):
            bar.set_description(f"{point.side}, {point}")
            indices = range(round_number, len(sources), rounds)
            lines_of_round = [sources[index] for index in indices]
            answers, rate = asyncio.run(
                answered(ports[servers[point]], lines_of_round, point.fields)
            )
            courses[point].answers.update(zip(indices, answers, strict=True))
            courses[point].rates.append(rate)
    rows = [course.row(point, references) for point, course in courses.items()]
    minutes = round((time.perf_counter() - started) / 60, 1)
    default = bundle.describe(DEFAULT_BUNDLE).manifest.decoding
    return curve_report.Curve(
        report.machine(),
        command,
        len(references),
        default.beam_size,
        default.stop_rule,
        minutes,
        rows,
    )


def lines_of(folder: Path, lines: int, rounds: int) -> dict[str, list[str]]:
    """Read the text by language.

    Raises:
        DataError: the text cannot be read, or is too short for this number of rounds.
    """
    text = read_aligned(folder, "test", (SOURCE, TARGET))
    if min(lines, len(text[SOURCE])) < MIN_LINES * rounds:
        raise DataError(
            f"{folder}: {min(lines, len(text[SOURCE]))} lines are too few for {rounds} rounds: "
            f"{CONNECTIONS} connections need {MIN_LINES * rounds}"
        )
    return text


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.curve", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with test.de and test.en")
    parser.add_argument("--lines", type=int, default=LINES, help=f"of the text (default {LINES})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build" / "bench", help="for the models"
    )
    parser.add_argument(
        "--documents",
        action="store_true",
        help=f"only write the documents from {curve_report.FILE}",
    )
    parser.add_argument("--no-documents", action="store_true", help="only print the points")
    options = parser.parse_args()
    if options.documents:
        curve_report.write_documents(curve_report.read(ROOT), ROOT)
        return
    if options.data is None:
        parser.error("--data is needed: a folder with test.de and test.en")
    command = "python -m tests.bench.curve --data DIR"
    text = lines_of(options.data, options.lines, options.rounds)
    curve = measure(text, options.cache, options.lines, options.rounds, command)
    print(curve_report.overview(curve))
    print(curve_report.details(curve))
    if not options.no_documents:
        curve_report.write(curve, ROOT)


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(f"error: {error}")

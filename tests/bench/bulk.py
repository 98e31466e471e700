"""`python -m tests.bench.bulk`: compare `attendant translate FILE --out` with its engine alone.

Both use the same loaded model on the same lines, in turn. The engine gets all sentences at once, already
tokenized, and its output is ignored. The command reads a file and writes another. Prints lines per second of
both, their ratio, and CPU time per line, which is more reliable while other programs run.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from service.bulk.files import Wanted
from service.bulk.run import Job, run
from service.engine.types import Work
from service.python_api import Translator
from service.translation.options import TranslationOptions
from service.translation.types import Translation
from tests.bench.text import everyday_german


def distinct_lines(count: int) -> list[str]:
    """Return `count` distinct German sentences."""
    lines, num_generated = dict[str, None](), count
    while len(lines) < count:
        num_generated *= 2
        lines = dict.fromkeys(everyday_german(num_generated))
    return list(lines)[:count]


def work_of(translator: Translator, lines: Sequence[str]) -> list[Work]:
    """Return the engine's input for these lines."""
    [model] = translator._models.own
    [direction] = [
        candidate for candidate in model.bundle.manifest.directions if candidate.source == "de"
    ]
    request = model.translator.preparation(direction, TranslationOptions())
    _, tasks = request.take_apart(lines)
    return [work for task in tasks for work in task.work]


def by_engine(translator: Translator, work: Sequence[Work]) -> None:
    """Submit all work to the engine at once and wait for it."""
    [model] = translator._models.own
    for sequence in model.engine.submit(work):
        sequence.future.result()


def by_command(translator: Translator, source: Path) -> None:
    """Run the command after its model is loaded."""

    def translate(texts: Sequence[str]) -> list[Translation]:
        return translator.translate(texts, "de", "en")

    out = source.with_suffix(".out")
    assert run(Job(source, out, Wanted()), lambda: (translate, {})) == 0
    out.unlink()


def measured(call: Callable[[], None]) -> tuple[float, float]:
    """Return the elapsed seconds and the CPU seconds of a call."""
    started, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - started, time.process_time() - cpu


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bulk", description=__doc__)
    parser.add_argument("--lines", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = distinct_lines(options.lines)
    with Translator.load() as translator, TemporaryDirectory() as folder:
        source = Path(folder, "lines.txt")
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        engine = partial(by_engine, translator, work_of(translator, lines))
        command = partial(by_command, translator, source)
        rounds = [(measured(engine), measured(command)) for _ in range(options.rounds)]
    names, sides = ("engine", "command"), zip(*rounds, strict=True)
    seconds = {}
    for name, side in zip(names, sides, strict=True):
        seconds[name], cpu = (median(column) for column in zip(*side, strict=True))
        rate, cost = len(lines) / seconds[name], 1e3 * cpu / len(lines)
        print(f"{name}: {rate:.1f} lines/s, {cost:.2f} CPU ms a line")
    print(f"command / engine: {seconds['engine'] / seconds['command']:.2f}")


if __name__ == "__main__":
    main()

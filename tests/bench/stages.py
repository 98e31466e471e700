"""`python -m tests.bench.stages [--data DIR]`: count the instructions of a request by thread and stage.

64 connections send lines of DIR/test.de, or generated sentences, to the service and to CTranslate2 behind a
minimal server, with 4 beams and with one. Each server counts the user instructions of its threads. The
service also counts those of the functions in `LOOP` and `ENGINE`, each without the listed functions that it
calls. Instructions hardly depend on other load. Prints a table.
"""

import argparse
import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from model.data.text import DataError, read_aligned
from service import process
from service.api.connection import Connection
from service.api.exchange import Exchange
from service.api.middleware.context import AccessLog
from service.api.native import routes
from service.engine import packing
from service.engine.batch import Batch
from service.engine.cores import available_cores
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.scheduler import Scheduler
from service.translation import translator
from service.translation.preparation import Preparation
from service.translation.sentence_translator import SentenceTranslator
from tests.bench import report, shell
from tests.bench.curve import answered
from tests.bench.instructions import InstructionCounter
from tests.bench.models import ROOT, build
from tests.bench.over_http import UNLIMITED, free_port, is_ready
from tests.bench.text import everyday_german

OURS, PEER = "Attendant", "CTranslate2"
BEAMS = (4, 1)
LINES = 600
LOOP: dict[str, list[tuple[Any, str]]] = {
    "read the request": [(Connection, "data_received")],
    "check its fields": [(routes, "parse")],
    "split the text, apply the rules, tokenize": [(Preparation, "take_apart")],
    "queue the sentences": [(Engine, "submit")],
    "detokenize, check that nothing was lost": [(SentenceTranslator, "_decoded")],
    "put the text together": [(translator, "_assemble")],
    "write the answer": [(routes, "_response"), (Exchange, "_begin"), (Exchange, "_write")],
    "metrics and access log": [(AccessLog, "record")],
}
ENGINE: dict[str, list[tuple[Any, str]]] = {
    "encoder": [(OnnxModelRunner, "encode")],
    "decoder": [(OnnxModelRunner, "decode")],
    "choose sentences": [(Scheduler, "schedule")],
    "pack the caches' entries": [(packing, "pack"), (packing.Packing, "unpack")],
    "beam search": [(Batch, "_advance")],
}
REST = "everything else"
WAITS = "waits"
"""Voluntary context switches: waits for Python's lock, for another lock, or for work."""
Counts = dict[str, dict[str, float]]
"""Million instructions of a request by kind of thread ("loop", "engine", "other") and stage, and `WAITS`."""


class _Thread:
    """The counts of one thread, since its first listed function."""

    def __init__(self) -> None:
        self.counter = InstructionCounter(threading.get_native_id())
        self.inner = 0  # of the listed functions that the running one has called
        self.stages = STAGES[threading.get_native_id()] = Counter[str]()


STAGES: dict[int, Counter[str]] = {}
"""Instructions by thread and stage."""
_local = threading.local()


def counted(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, with its instructions counted as those of a stage."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not hasattr(_local, "thread"):
            _local.thread = _Thread()
        thread: _Thread = _local.thread
        outer, thread.inner = thread.inner, 0
        before = thread.counter.read()
        try:
            return function(*arguments, **options)
        finally:
            taken = thread.counter.read() - before
            thread.stages[stage] += taken - thread.inner
            thread.inner = outer + taken

    return call


def serve(side: str, folder: Path, beam_size: int) -> None:
    """Serve in this process until a thread has measured it."""
    port = free_port()
    os.environ |= UNLIMITED | {"ATTENDANT_PORT": str(port), "ATTENDANT_DRAIN_SECONDS": "600"}
    arguments = (side, folder, beam_size, port)
    threading.Thread(target=measure, args=arguments, daemon=True).start()
    if side == OURS:
        for stage, functions in (LOOP | ENGINE).items():
            for owner, name in functions:
                setattr(owner, name, counted(stage, getattr(owner, name)))
        process.main([])
    else:
        cores = str(available_cores())
        sys.argv[1:] = [str(folder), cores, "--beam-size", str(beam_size)]
        shell.main()


def measure(side: str, folder: Path, beam_size: int, port: int) -> None:
    """Measure the second of two loads, write the counts, and end the process."""
    while not is_ready(port):
        time.sleep(0.5)
    load = [sys.executable, "-m", __spec__.name, "--load", str(folder), str(beam_size), str(port)]
    subprocess.run(load, check=True)
    tasks = [int(path.name) for path in Path("/proc/self/task").iterdir()]
    counters = {task: InstructionCounter(task) for task in tasks}
    before = {task: _so_far(task, counters[task]) for task in tasks}
    subprocess.run(load, check=True)
    after = {task: _so_far(task, counters[task]) for task in tasks}
    found = {kind: Counter[str]() for kind in ("loop", "engine", "other")}
    for task in tasks:
        is_engine = side == PEER or "decoder" in after[task]
        kind = "loop" if task == os.getpid() else "engine" if is_engine else "other"
        after[task].subtract(before[task])
        found[kind].update(after[task])
    (folder / "counts.json").write_text(json.dumps(found))
    os.kill(os.getpid(), signal.SIGTERM)


def _so_far(task: int, counter: InstructionCounter) -> Counter[str]:
    """Return a thread's instructions by stage, and how often it has waited."""
    found = Counter(STAGES.get(task, {}))
    found[REST] = counter.read() - found.total()
    status = Path(f"/proc/self/task/{task}/status").read_text()
    found[WAITS] = int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found


def load(folder: Path, beam_size: int, port: int) -> None:
    """Send all lines."""
    lines = json.loads((folder / "lines.json").read_text())
    fields = {"beam_size": beam_size, "rerank": False, "split_sentences": "0"}
    asyncio.run(answered(port, lines, fields))


def counts(side: str, folder: Path, beam_size: int, lines: int) -> Counts:
    """Return the counts of a side, per request."""
    serving = [sys.executable, "-m", __spec__.name, "--serve", side, str(folder), str(beam_size)]
    subprocess.run(serving, stderr=subprocess.DEVNULL, check=False)
    found = json.loads((folder / "counts.json").read_text())
    (folder / "counts.json").unlink()
    return {
        kind: {
            stage: count / lines / (1 if stage == WAITS else 1e6) for stage, count in one.items()
        }
        for kind, one in found.items()
    }


def table(found: dict[str, Counts]) -> str:
    """Return the table; `found` has the counts of each column."""
    rows = []
    for kind, name, stages in (
        ("loop", "event loop", LOOP),
        ("engine", "threads of the engine", ENGINE),
        ("other", "other threads", {}),
    ):
        total = {
            column: sum(count for stage, count in one[kind].items() if stage != WAITS)
            for column, one in found.items()
        }
        rows.append({"million instructions": f"**{name}**"} | _rounded(total))
        for stage in (*stages, REST) if stages else ():
            parts = {
                column: one[kind].get(stage, 0.0) if column.startswith(OURS) else None
                for column, one in found.items()
            }
            rows.append({"million instructions": stage} | _rounded(parts))
    waits = {column: one["engine"].get(WAITS, 0.0) for column, one in found.items()}
    rows.append({"million instructions": "waits of the engine's threads"} | _rounded(waits))
    return report.table(rows)


def _rounded(values: Mapping[str, float | None]) -> dict[str, str]:
    return {name: "" if one is None else f"{one:.2f}" for name, one in values.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stages", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with test.de and test.en")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        side, made, beam_size = options.serve
        serve(side, Path(made), int(beam_size))
        return
    if options.load:
        made, beam_size, port = options.load
        load(Path(made), int(beam_size), int(port))
        return
    lines = everyday_german(LINES)
    if options.data is not None:
        lines = read_aligned(options.data, "test", ("de", "en"))["de"][:LINES]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = build("default", ROOT / "build" / "bench", sentences=64)
        (folder / "model.pickle").write_bytes(pickle.dumps(model))
        (folder / "lines.json").write_text(json.dumps(lines))
        found = {
            f"{side}, {beams} beam{'s' * (beams > 1)}": counts(side, folder, beams, len(lines))
            for beams in BEAMS
            for side in (OURS, PEER)
        }
    print(table(found))


if __name__ == "__main__":
    try:
        main()
    except (DataError, OSError) as error:
        sys.exit(f"error: {error}")

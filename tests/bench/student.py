"""Comparison of a student's bundle with Marian's native int8 build, each on one core and with one beam."""

import logging
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import online
from tests.bench.imported_models import ImportedModel
from tests.bench.marian import Marian
from tests.bench.measure import Effort, Results, Row, in_turn
from tests.bench.systems import Ours, Remote

ALONE = 32
"""The number of sentences that are translated one by one."""
LOAD = 0.8
AT_ONCE, ONE_BY_ONE, SERVED = "words/s, all at once", "words/s, one by one", "at most served/s"


@dataclass(frozen=True)
class Side:
    """One of the two systems, with sources in its own form."""

    sources: Sequence[Any]
    translate: Callable[[Sequence[Any]], tuple[float, Sequence[Sequence[Any]]]]
    """Returns the seconds taken and the tokens of each translation."""
    arrive: Callable[[Sequence[Any], Sequence[float]], tuple[list[float], float]]

    def at_once(self) -> float:
        """Return the seconds for all sources at once."""
        return self.translate(self.sources)[0]

    def one_by_one(self) -> float:
        """Return the seconds for `ALONE` sources, one after another."""
        return sum(self.translate([source])[0] for source in self.sources[:ALONE])

    def under(self, times: Sequence[float]) -> tuple[list[float], float]:
        """Send sources at these times; see `online.Side`."""
        return self.arrive(online.cycled(self.sources, len(times)), list(times))


def measure(model: ImportedModel, python: Path, effort: Effort, results: Results) -> list[Row]:
    """Measure both sides, and return a row for each.

    Ratios are per word, since int8 changes the lengths of random weights' translations.
    """
    with ExitStack() as stack:
        with one_core():
            ours = stack.enter_context(Remote(Ours, model, "int8", 1, beam_size=1))
            marian = stack.enter_context(Marian(python, model.folder.parent / "source"))
        sides = {
            "ours": Side(
                model.sources,
                lambda sources: ours.timed("translate", sources, 1),
                lambda *arguments: ours.call("arrive", *arguments),
            ),
            "Marian": Side(model.texts, marian.translate, marian.arrive),
        }
        logging.info("student: offline and alone")
        words = [[len(ids) for ids in side.translate(side.sources)[1]] for side in sides.values()]
        at_once = in_turn(effort.rounds, *(side.at_once for side in sides.values()))
        alone = in_turn(effort.rounds, *(side.one_by_one for side in sides.values()))
        logging.info("student: online")
        loads, capacity = (LOAD, online.SATURATING), len(model.sources) / at_once[1]
        arrivals = {name: side.under for name, side in sides.items()}
        loaded = online.under_loads(arrivals, loads, capacity, effort)
    rows = [
        {
            "side": side,
            "mean target": round(statistics.mean(counts), 1),
            AT_ONCE: round(sum(counts) / seconds),
            ONE_BY_ONE: round(sum(counts[:ALONE]) / seconds_alone),
            "80 % load: p50, ms": loaded[side, LOAD]["p50, ms"],
            "p95, ms": loaded[side, LOAD]["p95, ms"],
            SERVED: loaded[side, online.SATURATING]["served/s"],
        }
        for side, counts, seconds, seconds_alone in zip(sides, words, at_once, alone, strict=True)
    ]
    our_row, their_row = rows
    names = {"offline.student.int8": AT_ONCE, "single.student.int8": ONE_BY_ONE}
    for name, key in (names | {"saturation.student": SERVED}).items():
        results.ratios[name] = our_row[key] / their_row[key]
    rows_under_load = (loaded[side, LOAD] for side in ("Marian", "ours"))
    results.ratios |= online.latency_ratios("online80.student", *rows_under_load)
    results.online += [{"model": model.name, **row} for row in loaded.values()]
    return rows


@contextmanager
def one_core() -> Iterator[None]:
    """Within the context, start processes on one core, which they use in turn."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)

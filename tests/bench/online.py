"""Latency of sentences that arrive one by one, with the same arrivals for each side in turn, as medians."""

import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from tests.bench.measure import Effort, Results, Row
from tests.bench.models import BenchModel
from tests.bench.systems import Ids, Ours, Peer, Remote

LOADS = (0.3, 0.6, 0.8, 0.95, 1.2)
SATURATING = 2.5
"""Arrivals as shares of CTranslate2's offline capacity; the last measures the maximum throughput."""
JUDGED = (0.8, 0.95)
"""Loads at which latencies are compared. These and the saturating one are measured several times."""
ONE_A_CALL = "one a call"
SATURATES_ONE_A_CALL = 0.6
"""The highest load for CTranslate2 when it is called for each sentence, which it cannot serve."""

Side = Callable[[Sequence[float]], tuple[list[float], float]]
"""Sends a sentence at each of these times; returns latencies and the time until the last was translated."""


def measure(model: BenchModel, capacity: float, effort: Effort, results: Results) -> None:
    """Measure the engine and CTranslate2 in int8 under shares of CTranslate2's offline capacity."""
    kinds = {
        "ours": (Ours, (effort.cores,), {}),
        ONE_A_CALL: (Peer, (effort.cores, 1), {}),
        "batcher": (Peer, (effort.cores, 1), {"batching": True}),
    }
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for name, (kind, arguments, options) in kinds.items():
            remote = stack.enter_context(Remote(kind, model, "int8", *arguments, **options))
            remote.call("translate", model.sources[:32], 4)
            sides[name] = partial(_arrive, remote, model.sources)
        loads = (0.8, SATURATING) if effort.quick else (*LOADS, SATURATING)
        rows = under_loads(sides, loads, capacity, effort)
    results.online += [{"model": model.name, **row} for row in rows.values()]
    for load in (load for load in JUDGED if load in loads):
        name = f"online{round(100 * load)}.{model.name}"
        results.ratios |= latency_ratios(name, rows["batcher", load], rows["ours", load])
    served = {side: rows[side, SATURATING]["served/s"] for side in ("ours", "batcher")}
    results.ratios[f"saturation.{model.name}"] = served["ours"] / served["batcher"]


def under_loads(
    sides: Mapping[str, Side], loads: Iterable[float], capacity: float, effort: Effort
) -> dict[tuple[str, float], Row]:
    """Measure every side at every load; at each load, the sides take turns."""
    rows: dict[tuple[str, float], Row] = {}
    for load in loads:
        measured_sides = [
            name
            for name in sides
            if load <= SATURATES_ONE_A_CALL or not name.startswith(ONE_A_CALL)
        ]
        rounds: dict[str, list[Row]] = {name: [] for name in measured_sides}
        seconds = effort.online_seconds(capacity) / max(1.0, load)
        for seed in range(effort.online_rounds if load in (*JUDGED, SATURATING) else 1):
            times = poisson(load * capacity, seconds, seed)
            for name in measured_sides:
                rounds[name].append(_row(times, *sides[name](times)))
        for name, rows_of_side in rounds.items():
            medians = {
                key: round(statistics.median(row[key] for row in rows_of_side), 1)
                for key in rows_of_side[0]
            }
            rows[name, load] = {"side": name, "load": load, "streams": len(rows_of_side), **medians}
    return rows


def latency_ratios(name: str, theirs: Row, ours: Row) -> dict[str, float]:
    """Return the ratios `name.p50` and `name.p95`, which are above 1 if the service is faster."""
    return {
        f"{name}.{quantile}": theirs[f"{quantile}, ms"] / ours[f"{quantile}, ms"]
        for quantile in ("p50", "p95")
    }


def _row(times: Sequence[float], latencies: list[float], seconds: float) -> Row:
    return {
        "offered/s": len(times) / times[-1],
        "served/s": len(times) / seconds,
        **quantiles(latencies),
    }


def _arrive(
    remote: Remote, sources: Sequence[Ids], times: Sequence[float]
) -> tuple[list[float], float]:
    result: tuple[list[float], float] = remote.call("arrive", cycled(sources, len(times)), times)
    return result


def cycled(items: Sequence[Any], count: int) -> list[Any]:
    """Return `count` items, starting again at the beginning when they are used up."""
    return [items[index % len(items)] for index in range(count)]


def poisson(rate: float, seconds: float, seed: int = 1) -> list[float]:
    """Draw Poisson arrival times, `rate` per second on average, the same for the same seed."""
    rng, now = random.Random(seed), 0.0
    times: list[float] = []
    while (now := now + rng.expovariate(rate)) < seconds or not times:
        times.append(now)
    return times


def quantiles(latencies: Iterable[float]) -> Row:
    """Return the median, 95th and 99th percentile in milliseconds."""
    ordered = sorted(latencies)
    return {
        f"p{percent}, ms": 1e3 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
        for percent in (50, 95, 99)
    }

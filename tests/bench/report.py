"""Reports of the benchmark: `bench.json`, and tables for README.md, docs and this folder's page."""

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import ctranslate2
import onnxruntime

from service.engine.cores import available_cores
from tests.bench.measure import Results, Row
from tests.bench.picture import latency_by_load
from tests.documents import renew

MARK = "bench"
"""The mark of the generated part of a page."""
BILLION_A_DAY = 1e9 / 86_400
"""A billion sentences a day, in sentences per second."""
OVERVIEW = {
    "all sentences at once": ("offline.{model}.{precision}",),
    "one sentence alone": ("single.{model}.{precision}",),
    "80 % load: p50, p95": ("online80.{model}.p50", "online80.{model}.p95"),
    "95 % load: p50, p95": ("online95.{model}.p50", "online95.{model}.p95"),
    "more load than either can take": ("saturation.{model}",),
    "HTTP, one request alone": ("http.single.{model}",),
    "HTTP, 80 % load: p50, p95": ("http80.{model}.p50", "http80.{model}.p95"),
    "HTTP, 64 connections": ("http.saturation.{model}",),
}
"""Rows of the overview, and the names of their ratios."""


def machine() -> str:
    """Describe the machine and the versions of both engines."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [
        line.split(":")[1].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else [])
        if line.startswith("model name")
    ]
    return (
        f"{available_cores()} cores of {names[0] if names else platform.processor()}, ONNX Runtime "
        f"{onnxruntime.__version__} against CTranslate2 {ctranslate2.__version__}"
    )


def table(rows: Sequence[Row]) -> str:
    """Format rows as a Markdown table, with columns in the order of the first row."""
    if not rows:
        return "_not measured_\n"
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns)]
    lines += [[str(row.get(column, "")) for column in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def summary(results: Results) -> str:
    """Return both sides' int8 figures in six rows, for the README, with CTranslate2's faster server."""
    offline = {row["model"]: row for row in results.offline if row["precision"] == "int8"}
    keys = ("model", "precision", "batch", "beam")
    batches = {tuple(row[key] for key in keys): row for row in results.batches}
    online = {(row["model"], row["side"], row["load"]): row["p50, ms"] for row in results.online}
    busy = (online["default", side, 0.95] for side in ("ours", "batcher"))
    service, *peers = results.http
    rate, time = "64 connections, requests/s", "one request, p50 ms"
    figures = {
        "Bundled model, all sentences at once": _both(offline["default"], "sentences/s"),
        "Bundled model, one sentence": _both(batches["default", "int8", 1, 4], "ms"),
        "Bundled model, median at 95 % load": (*busy, "ms"),
        "HTTP, one request": (service[time], min(peer[time] for peer in peers), "ms"),
        "HTTP, 64 connections": (service[rate], max(peer[rate] for peer in peers), "requests/s"),
        "`base` (60 million parameters), all at once": _both(offline["base"], "sentences/s"),
    }
    rows = [
        {"int8": label, "Attendant": f"{ours} {unit}", "CTranslate2": f"{theirs} {unit}"}
        for label, (ours, theirs, unit) in figures.items()
    ]
    return f"Measured by `{results.command}` on {results.machine}.\n\n" + table(rows)


def _both(row: Row, unit: str) -> tuple[float, float, str]:
    """Return the figures of both sides in a row, with their unit."""
    return row[f"ours, {unit}"], row[f"CTranslate2, {unit}"], unit


def overview(results: Results) -> str:
    """Return the ratios of all models side by side, for docs/performance.md."""
    columns = list(dict.fromkeys((row["model"], row["precision"]) for row in results.offline))
    rows: list[Row] = []
    for label, names in OVERVIEW.items():
        row = {"ratio": label}
        for model, precision in columns:
            all_ratios = [
                results.ratios.get(name.format(model=model, precision=precision)) for name in names
            ]
            # under load, only int8 is measured
            applies = precision == "int8" or "{precision}" in names[0]
            ratios = [f"{ratio:.2f}" for ratio in all_ratios if ratio and applies]
            row[f"{model}, {precision}"] = ", ".join(ratios)
        if any(list(row.values())[1:]):
            rows.append(row)
    return (
        f"Measured by `{results.command}` on {results.machine}; medians.\n\n{table(rows)}\n"
        f"All sentences at once:\n\n{table(results.offline)}\n{_behind(results)}"
    )


def _behind(results: Results) -> str:
    """List the ratios below 1."""
    slower = sorted(
        f"{name} ({ratio:.2f})"
        for name, ratio in results.ratios.items()
        if ratio < 1 and not name.startswith("limit")
    )
    return f"Where it is behind: {', '.join(slower) or 'nowhere'}.\n"


def details(results: Results) -> str:
    """Return all measurements, for the benchmark's own page."""
    parts = [
        f"Measured by `{results.command}` on {results.machine}.\n",
        "All sentences at once:\n\n" + table(results.offline),
        "One batch after another:\n\n" + table(results.batches),
        "Arriving one by one (load as a share of CTranslate2's throughput with all sentences at once;\n"
        "medians over the streams of arrivals; int8):\n\n" + table(results.online),
        "Over HTTP (default bundle, int8):\n\n" + table(results.http),
        "Decoding, base int8, by kernel:\n\n" + table(results.kernels),
        "Resident memory under sentences of 1 and 500 tokens, mixed:\n\n" + table(results.memory),
        "Also: " + "; ".join(f"{name} = {value}" for name, value in results.notes.items()) + ".\n",
        _behind(results),
    ]
    return "\n".join(parts)


def write(results: Results, root: Path) -> None:
    """Write `bench.json`."""
    ratios = {name: round(ratio, 3) for name, ratio in sorted(results.ratios.items())}
    figures = asdict(results) | {"ratios": ratios}
    (root / "bench.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def read(root: Path) -> Results:
    """Read `bench.json`."""
    return Results(**json.loads((root / "bench.json").read_text(encoding="utf-8")))


def write_documents(results: Results, root: Path) -> None:
    """Update the figure and the tables of all pages."""
    picture = latency_by_load(results.online)
    (root / "tests" / "bench" / "latency.svg").write_text(picture, encoding="utf-8")
    for page, part in parts(results).items():
        renew(root / page, MARK, part)


def parts(results: Results) -> dict[str, str]:
    """Return the generated part of each page."""
    return {
        "README.md": summary(results),
        "docs/performance.md": overview(results),
        "docs/capacity.md": bulk(results),
        "tests/bench/README.md": details(results),
    }


def bulk(results: Results) -> str:
    """Compute the cores for a billion sentences a day without latency limits, for docs/capacity.md."""
    cores, rate = int(results.machine.split()[0]), BILLION_A_DAY
    rows: list[Row] = []
    for row in results.offline:
        if row["precision"] == "int8":
            speed = row["ours, sentences/s"]
            rows.append(
                {
                    "model": row["model"],
                    f"sentences/s on {cores} cores": speed,
                    "a core": round(speed / cores, 1),
                    f"cores for {rate:,.0f}/s": math.ceil(rate / (speed / cores)),
                }
            )
    return f"From `{results.command}` on {results.machine}; int8, all sentences at once:\n\n{table(rows)}"

"""Figures as tables: `bench.json`, and the part of the README between two marks."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import ctranslate2
import onnxruntime

from tests.bench.measure import Results, Row

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def machine() -> str:
    """What it ran on."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [
        line.split(":")[1].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else [])
        if line.startswith("model name")
    ]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{cores} cores of {names[0] if names else platform.processor()}, ONNX Runtime "
        f"{onnxruntime.__version__} against CTranslate2 {ctranslate2.__version__}"
    )


def table(rows: Sequence[Row]) -> str:
    """Markdown; columns in the order of the first row."""
    if not rows:
        return "_not measured_\n"
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns)]
    lines += [[str(row.get(column, "")) for column in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(results: Results, command: str) -> str:
    """Everything for the README."""
    behind = sorted(
        f"{name} ({ratio:.2f})"
        for name, ratio in results.ratios.items()
        if ratio < 1 and not name.startswith("limit")
    )
    parts = [
        f"Measured by `{command}` on {machine()}; the same weights, beam 4 where nothing is said, both\n"
        "sides in turn, medians. A ratio above 1 is where Attendant is ahead. CTranslate2 runs with the\n"
        "threads and batch size that were fastest for it.\n",
        "All sentences at once:\n\n" + table(results.offline),
        "One batch after another:\n\n" + table(results.batches),
        "Arriving one by one (Poisson; load as a share of CTranslate2's capacity above; medians over the\n"
        "streams of arrivals; int8):\n\n" + table(results.online),
        "Over HTTP (default bundle, int8):\n\n" + table(results.http),
        "Decoding, base int8, by kernel:\n\n" + table(results.kernels),
        "Resident memory under sentences of 1 and 500 tokens, mixed:\n\n" + table(results.memory),
        "Also: " + "; ".join(f"{name} = {value}" for name, value in results.notes.items()) + ".\n",
        f"Where it is behind: {', '.join(behind) or 'nowhere'}.\n",
    ]
    return "\n".join(parts)


def write(results: Results, command: str, json_path: Path, readme: Path | None) -> None:
    """Write `bench.json`, and renew the README's part where `readme` is given."""
    figures = {
        "machine": machine(),
        "command": command,
        **asdict(results),
        "ratios": {name: round(ratio, 3) for name, ratio in sorted(results.ratios.items())},
    }
    json_path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if readme is not None:
        text = readme.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN, 1)
        after = rest.split(END, 1)[1]
        new = f"{before}{BEGIN}\n{markdown(results, command)}{END}{after}"
        readme.write_text(new, encoding="utf-8")

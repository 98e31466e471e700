"""Figures of latency by load and of quality by speed."""

from collections.abc import Sequence
from itertools import product

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from model.figures import COLOURS, STYLE, as_svg
from tests.bench.curve_points import OURS, PEER, PRECISIONS, RULES, Point
from tests.bench.measure import Row

SIDES = {
    "ours": ("Attendant", COLOURS[0]),
    "batcher": ("CTranslate2 behind a batcher", COLOURS[1]),
    "one a call": ("CTranslate2, one a call", COLOURS[2]),
}
MAX_LOAD = 1.2


def latency_by_load(online: Sequence[Row]) -> str:
    """Plot median and 95th percentile of each side by load, with a panel per model, as SVG.

    Saturating loads are left out, because their latency depends on the duration of the measurement.
    """
    online = [row for row in online if row["load"] <= MAX_LOAD]
    models = list(dict.fromkeys(row["model"] for row in online))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.4 * max(1, len(models)), 3.6), layout="constrained")
        for axes, model in zip(
            figure.subplots(1, len(models), squeeze=False)[0], models, strict=True
        ):
            _panel(axes, [row for row in online if row["model"] == model])
            axes.set_title(f"{model}, int8")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(SIDES))
        return as_svg(figure)


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    for side, (label, colour) in SIDES.items():
        side_rows = sorted(
            (row for row in rows if row["side"] == side), key=lambda row: row["load"]
        )
        loads = [100 * row["load"] for row in side_rows]
        axes.plot(
            loads, [row["p50, ms"] for row in side_rows], color=colour, marker="o", label=label
        )
        axes.plot(loads, [row["p95, ms"] for row in side_rows], color=colour, linestyle=":")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(
        xlabel="load, % of CTranslate2's throughput with all at once",
        ylabel="ms until translated: p50 (line), p95 (dots)",
    )


SEARCHES = {
    (OURS, False): (OURS, COLOURS[0]),
    (OURS, True): (f"{OURS}, reranked", COLOURS[2]),
    (PEER, False): (PEER, COLOURS[1]),
}
"""The label and the colour of each side, without and with reranking."""
RULE_LINES = dict(zip(RULES, ("-", "--", ":"), strict=True))


def quality_by_speed(points: Sequence[Row], default: Point) -> str:
    """Plot BLEU by sentences per second, with a panel per precision, as SVG.

    Numbers are beams, a ring marks the default, and lines connect points that differ only in their beams.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 4.2), layout="constrained")
        panels = figure.subplots(1, len(PRECISIONS), sharey=True)
        for axes, precision in zip(panels, PRECISIONS, strict=True):
            _curves(axes, [row for row in points if row["precision"] == precision], default)
            axes.set(title=precision, xlabel="sentences a second over HTTP, 64 connections")
        panels[0].set_ylabel("BLEU")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=4)
        return as_svg(figure)


def _curves(axes: Axes, rows: Sequence[Row], default: Point) -> None:
    for ((side, rerank), (label, colour)), rule in product(SEARCHES.items(), RULES):
        configuration = side, rerank, rule
        curve_rows = [
            row for row in rows if (row["side"], row["rerank"], row["stop_rule"]) == configuration
        ]
        if not curve_rows:
            continue
        curve_rows.sort(key=lambda row: row["beam_size"])
        points = [(row["sentences/s"], row["BLEU"]) for row in curve_rows]
        name = label if side == PEER else f"{label}, {rule}"
        line = RULE_LINES[rule]
        axes.plot(*zip(*points, strict=True), color=colour, marker=".", linestyle=line, label=name)
        for row, point in zip(curve_rows, points, strict=True):
            if Point(side, row["precision"], row["beam_size"], rule, rerank) == default:
                axes.plot(*point, color=colour, marker="o", markersize=11, fillstyle="none")
            if rule == RULES[0]:
                beams, offset = str(row["beam_size"]), (4, 4)
                axes.annotate(beams, point, offset, textcoords="offset points", color=colour)
